package stack

import (
	"context"
	"crypto/rand"
	"database/sql"
	"os"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// EnvName is the environment variable that names the stack.json of the run.
const EnvName = "VENDLINE_STACK"

// T is what this package asks of a test; *testing.T is one. Declared here so
// that the binaries which start stacks do not carry the testing package.
type T interface {
	Helper()
	Name() string
	Failed() bool
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Need returns the shared stack of this run of the tests, and fails the test
// if there is none: a promise about a real server is checked or it is red.
func Need(t T) *Description {
	t.Helper()
	path := os.Getenv(EnvName)
	if path == "" {
		t.Fatalf("%s needs the real servers: run `make test`, or `go run ./deploy/cmd/vend stack run -- go test ./...` (and `go test -short` runs the tests that need none)", t.Name())
		return nil
	}
	d, err := Load(path)
	if err != nil {
		t.Fatalf("%s names no running stack: %v", EnvName, err)
		return nil
	}
	return d
}

// Own starts servers for this test alone, to be killed, paused and restarted
// at will. They end with the test, and their logs are quoted if it failed.
func Own(t T, o Options) *Stack {
	t.Helper()
	if o.Dir == "" {
		dir, err := os.MkdirTemp("", "vendline-stack-")
		if err != nil {
			t.Fatalf("stack: folder: %v", err)
			return nil
		}
		o.Dir = dir
	}
	if o.BufferPool == "" {
		o.BufferPool = "128M"
	}
	if o.RedoLog == "" {
		o.RedoLog = "64M"
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s, err := Start(ctx, o)
	if err != nil {
		os.RemoveAll(o.Dir)
		t.Fatalf("%v", err)
		return nil
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, server := range s.Servers() {
				t.Logf("the end of the log of %s:\n%s", server.Name(), lastLines(logSince(server.Log(), 0), 15))
			}
		}
		if err := s.Discard(); err != nil {
			t.Errorf("stack: clean up: %v", err)
		}
	})
	return s
}

// Database creates an empty database for this test, and returns its DSN. It is
// dropped when the test ends.
func (d *Description) Database(t T) string {
	t.Helper()
	config, err := mysql.ParseDSN(d.MySQLDSN)
	if err != nil {
		t.Fatalf("stack: DSN in stack.json: %v", err)
		return ""
	}
	name := "vendline_" + short()
	run := func(statement string) error {
		db, err := sql.Open("mysql", d.MySQLDSN)
		if err != nil {
			return err
		}
		defer db.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_, err = db.ExecContext(ctx, statement)
		return err
	}
	if err := run("CREATE DATABASE " + name); err != nil {
		t.Fatalf("stack: create database %s: %v", name, err)
		return ""
	}
	t.Cleanup(func() {
		if err := run("DROP DATABASE " + name); err != nil {
			t.Errorf("stack: drop database %s: %v", name, err)
		}
	})
	config.DBName = name
	return config.FormatDSN()
}

// CabinetPrefix is a fresh start for the cabinet ids of this test, so that it
// shares Redis keys and MQTT topics with no other.
func (d *Description) CabinetPrefix(T) string { return short() }

// Cabinet gives a cabinet a user at the MQTT broker and returns its password.
func (d *Description) Cabinet(t T, id string) string {
	t.Helper()
	passwords, err := d.AddCabinets(context.Background(), id)
	if err != nil {
		t.Fatalf("%v", err)
		return ""
	}
	return passwords[id]
}

// Topic is a RocketMQ topic name that no other test uses; CreateTopic creates it.
func (d *Description) Topic(_ T, base string) string { return base + "_" + short() }

// short is six random characters of [a-z0-9].
func short() string { return strings.ToLower(rand.Text()[:6]) }
