package stack

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// rocketMQVersion is one whose every part is at Maven Central.
const rocketMQVersion = "5.3.3"

// jarsFolder is a cache for all stacks of this user.
func jarsFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("stack: where to keep RocketMQ's jars: %w", err)
	}
	return filepath.Join(cache, "vendline", "rocketmq-"+rocketMQVersion), nil
}

func jarsCached() bool {
	dir, err := jarsFolder()
	if err != nil {
		return false
	}
	_, err = os.Stat(dir)
	return err == nil
}

// jars returns the folder of RocketMQ's jars, fetching them on first use. The
// folder appears whole or not at all; of several callers one fetches.
func jars(ctx context.Context, log io.Writer) (string, error) {
	dir, err := jarsFolder()
	if err != nil || jarsCached() {
		return dir, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	for !jarsCached() {
		unlock, err := lock(dir + ".lock")
		if err != nil {
			return "", err
		}
		if !jarsCached() {
			fmt.Fprintf(log, "rocketmq   fetching %s (83 MB, once)\n", rocketMQVersion)
			err = fetchJars(ctx, dir)
		}
		unlock()
		if err != nil {
			return "", err
		}
	}
	return dir, nil
}

func fetchJars(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	program, err := find("mvn")
	if err != nil {
		return fmt.Errorf("stack: RocketMQ's jars come by Maven: %w: `apt-get install maven`", err)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "fetch-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	pom := filepath.Join(work, "pom.xml")
	if err := os.WriteFile(pom, []byte(jarsPom()), 0o644); err != nil {
		return err
	}
	lib := filepath.Join(work, "lib")
	cmd := exec.CommandContext(ctx, program, "-B", "-q", "-f", pom,
		"dependency:copy-dependencies", "-DoutputDirectory="+lib)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("stack: fetch RocketMQ %s with %s: %w\n%s", rocketMQVersion, program, err, lastLines(out, 15))
	}
	return os.Rename(lib, dir)
}

func jarsPom() string {
	var b strings.Builder
	b.WriteString(`<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><packaging>pom</packaging>
<groupId>vendline</groupId><artifactId>rocketmq-jars</artifactId><version>1</version>
<dependencies>
`)
	for _, artifact := range []string{"rocketmq-namesrv", "rocketmq-broker", "rocketmq-tools"} {
		fmt.Fprintf(&b, "<dependency><groupId>org.apache.rocketmq</groupId><artifactId>%s</artifactId><version>%s</version></dependency>\n",
			artifact, rocketMQVersion)
	}
	b.WriteString("</dependencies></project>\n")
	return b.String()
}
