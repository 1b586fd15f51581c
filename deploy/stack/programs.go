package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"vendline/deploy"
)

// program is one that must be on the machine.
type program struct {
	name    string
	pkg     string // Debian package that brings it
	install string // its name for install.sh
}

// wanted lists the programs that the chosen servers need.
func (o Options) wanted() []program {
	var all []program
	if o.Redis || o.RedisCluster || o.RedisSentinel {
		all = append(all, program{"redis-server", "redis-server", "redis"})
	}
	if o.MariaDB {
		all = append(all, program{"mariadbd", "mariadb-server", "mariadb"},
			program{"mariadb-install-db", "mariadb-server", "mariadb"})
	}
	if o.Mosquitto {
		all = append(all, program{"mosquitto", "mosquitto", "mosquitto"},
			program{"mosquitto_passwd", "mosquitto", "mosquitto"})
	}
	if o.RocketMQ {
		all = append(all, program{"java", "default-jre-headless", "java"})
		if !jarsCached() {
			all = append(all, program{"mvn", "maven", "maven"})
		}
	}
	return all
}

// requirePrograms finds every program that is wanted, installs what is missing if that
// is allowed, and otherwise names all that is missing and how to get it.
func requirePrograms(ctx context.Context, o Options) error {
	missing := missingPrograms(o.wanted())
	if len(missing) == 0 {
		return nil
	}
	if o.Install {
		names := []string{}
		for _, p := range missing {
			names = append(names, p.install)
		}
		if err := install(ctx, o.Log, names); err != nil {
			return err
		}
		missing = missingPrograms(o.wanted())
	}
	var errs []error
	for _, p := range missing {
		errs = append(errs, fmt.Errorf("stack: program %s is not installed: `apt-get install %s`, or `sudo deploy/install.sh %s`", p.name, p.pkg, p.install))
	}
	return errors.Join(errs...)
}

func missingPrograms(wanted []program) []program {
	var missing []program
	for _, p := range wanted {
		if _, err := find(p.name); err != nil {
			missing = append(missing, p)
		}
	}
	return missing
}

// find looks a program up in PATH and where Debian keeps servers, which is
// not in an ordinary user's PATH.
func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", err
}

// install runs the repository's install.sh for the given names.
func install(ctx context.Context, log io.Writer, names []string) error {
	script, err := os.CreateTemp("", "vendline-install-*.sh")
	if err != nil {
		return fmt.Errorf("stack: install %v: %w", names, err)
	}
	defer os.Remove(script.Name())
	if _, err := script.WriteString(deploy.InstallScript); err != nil {
		return fmt.Errorf("stack: install %v: %w", names, err)
	}
	if err := script.Close(); err != nil {
		return fmt.Errorf("stack: install %v: %w", names, err)
	}
	argv := append([]string{"bash", script.Name()}, names...)
	if os.Geteuid() != 0 {
		argv = append([]string{"sudo", "-n"}, argv...)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("stack: install %v (run `sudo deploy/install.sh` yourself to see more): %w", names, err)
	}
	return nil
}
