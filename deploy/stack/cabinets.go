package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

var cabinetID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

func checkCabinet(id string) error {
	if !cabinetID.MatchString(id) || id == cloudUser {
		return fmt.Errorf("stack: %q cannot be a cabinet's id: it must match %s and not be %q", id, cabinetID, cloudUser)
	}
	return nil
}

// AddCabinets gives cabinets a user at the MQTT broker, from any process, and
// returns the password of each once the broker knows it. Clients that are
// connected stay so. A cabinet that is known already keeps its password.
func (d *Description) AddCabinets(ctx context.Context, ids ...string) (map[string]string, error) {
	for _, id := range ids {
		if err := checkCabinet(id); err != nil {
			return nil, err
		}
	}
	passwords, err := addUsers(ctx, d.Dir, ids)
	if err != nil || len(ids) == 0 {
		return passwords, err
	}
	now, err := Load(d.Dir) // the broker may have another pid by now
	if err != nil {
		return nil, err
	}
	broker, ok := now.process("mosquitto")
	if !ok || !broker.Alive() {
		return nil, errors.New("stack: add cabinets: mosquitto is not running")
	}
	if err := reloadGroup(broker.PID); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	last := ids[len(ids)-1]
	for {
		if err := mqttAnswers(ctx, now.MQTTURL, last, passwords[last]); err == nil {
			return passwords, nil
		} else if ctx.Err() != nil {
			return nil, fmt.Errorf("stack: mosquitto does not know cabinet %s after its reload: %w", last, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// CabinetPasswordFile is the path of the file that holds a cabinet's password,
// for vend-edge --mqtt-password-file.
func (d *Description) CabinetPasswordFile(id string) string { return secretPath(d.Dir, "mqtt", id) }

// addUsers writes mosquitto's password file with these users beside those it
// has, and the cabinets among them into stack.json.
func addUsers(ctx context.Context, dir string, users []string) (map[string]string, error) {
	passwords := map[string]string{}
	err := edit(dir, func(d *Description) error {
		file := filepath.Join(dir, "mosquitto", "passwords")
		known, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		var plain strings.Builder
		for _, user := range users {
			if passwords[user], err = secret(dir, "mqtt", user); err != nil {
				return err
			}
			if !strings.Contains("\n"+string(known), "\n"+user+":") {
				fmt.Fprintf(&plain, "%s:%s\n", user, passwords[user])
			}
		}
		if plain.Len() > 0 {
			hashed, err := hashPasswords(ctx, dir, plain.String())
			if err != nil {
				return err
			}
			if err := replaceFile(file, append(known, hashed...)); err != nil {
				return err
			}
		}
		if d.Cabinets == nil {
			d.Cabinets = map[string]string{}
		}
		maps.Copy(d.Cabinets, passwords)
		delete(d.Cabinets, cloudUser)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("stack: passwords for mosquitto: %w", err)
	}
	return passwords, nil
}

// hashPasswords turns lines of user:password into mosquitto's form.
func hashPasswords(ctx context.Context, dir, plain string) ([]byte, error) {
	program, err := find("mosquitto_passwd")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "mosquitto", "passwords.plain")
	defer os.Remove(file)
	if err := os.WriteFile(file, []byte(plain), 0o600); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, program, "-U", file).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s -U: %w\n%s", program, err, out)
	}
	return os.ReadFile(file)
}
