package stack

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/go-sql-driver/mysql"
)

// startMariaDB starts mariadbd with a data folder of its own and the database
// and user `vendline`, who may also create databases named vendline_….
func (s *Stack) startMariaDB(ctx context.Context) error {
	program, err := find("mariadbd")
	if err != nil {
		return err
	}
	dir := filepath.Join(s.Dir, "mariadb")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	password, err := secret(s.Dir, "mysql", "vendline")
	if err != nil {
		return err
	}
	if err := createMariaDB(ctx, dir, s.options.RedoLog); err != nil {
		return err
	}
	// Run before the server listens, at every start.
	grants := filepath.Join(dir, "init.sql")
	if err := replaceFile(grants, []byte(mariaDBGrants(password))); err != nil {
		return fmt.Errorf("stack: configure mariadb: %w", err)
	}
	return onPort(ctx, "mariadb", s.options.Ports.MariaDB, nil, func(port int) error {
		file := filepath.Join(dir, "my.cnf")
		if err := replaceFile(file, []byte(mariaDBConf(dir, port, s.options))); err != nil {
			return fmt.Errorf("stack: configure mariadb: %w", err)
		}
		dsn := mariaDBDSN(address(port), password)
		server, err := s.server(Process{
			Name: "mariadb", Program: program, Args: []string{"--defaults-file=" + file}, Dir: dir,
			Addr: address(port), Grace: 30 * time.Second,
			Ready: func(ctx context.Context) error { return mariaDBAnswers(ctx, dsn) },
		})
		if err != nil {
			return err
		}
		s.MariaDB = server
		if err := server.Start(ctx); err != nil {
			return err
		}
		return edit(s.Dir, func(d *Description) error { d.MySQLDSN = dsn; return nil })
	})
}

// createMariaDB makes the system tables, once. A half-made folder is made anew.
func createMariaDB(ctx context.Context, dir, redoLog string) error {
	data := filepath.Join(dir, "data")
	if _, err := os.Stat(data); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	program, err := find("mariadb-install-db")
	if err != nil {
		return err
	}
	half := data + ".new"
	args := []string{"--no-defaults", "--datadir=" + half, "--auth-root-authentication-method=normal",
		"--skip-test-db", "--skip-name-resolve", "--innodb-log-file-size=" + redoLog}
	if os.Geteuid() == 0 {
		args = append(args, "--user=root")
	}
	// On a busy machine its bootstrap has failed for want of something that was
	// there a moment later; nothing is kept of such a try.
	for try := 1; ; try++ {
		if err := os.RemoveAll(half); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, program, args...)
		// The script's own child must end with it.
		cmd.SysProcAttr = processGroup(true)
		cmd.Cancel = func() error { return killGroup(cmd.Process.Pid) }
		out, err := cmd.CombinedOutput()
		if err == nil {
			break
		}
		if try == 3 || ctx.Err() != nil {
			return fmt.Errorf("stack: create the system tables with %s: %w\n%s", program, err, lastLines(out, 60))
		}
	}
	return os.Rename(half, data)
}

func mariaDBConf(dir string, port int, o Options) string {
	user := ""
	if os.Geteuid() == 0 {
		user = "user = root"
	}
	return fmt.Sprintf(`# Written at every start.
[mariadbd]
%s
datadir = %s/data
init-file = %s/init.sql
# Relative to datadir: an absolute path may be too long for a socket.
socket = mariadb.sock
pid-file = mariadb.pid
port = %d
bind-address = 127.0.0.1
skip-name-resolve
max_connections = 300
max_allowed_packet = 64M
character-set-server = utf8mb4
# A commit that was answered is on disk.
innodb_flush_log_at_trx_commit = 1
innodb_buffer_pool_size = %s
innodb_log_file_size = %s
innodb_buffer_pool_dump_at_shutdown = OFF
innodb_buffer_pool_load_at_startup = OFF
`, user, dir, dir, port, o.BufferPool, o.RedoLog)
}

// mariaDBGrants leaves two ways in: the user vendline over TCP, and root
// through the socket, which stands in a folder only we can enter.
func mariaDBGrants(password string) string {
	return "CREATE DATABASE IF NOT EXISTS vendline;\n" +
		"CREATE OR REPLACE USER vendline@'127.0.0.1' IDENTIFIED BY '" + password + "';\n" +
		"GRANT PROCESS ON *.* TO vendline@'127.0.0.1';\n" +
		"GRANT ALL ON vendline.* TO vendline@'127.0.0.1';\n" +
		"GRANT ALL ON `vendline\\_%`.* TO vendline@'127.0.0.1';\n" +
		"DELETE FROM mysql.global_priv WHERE user IN ('', 'root') AND host <> 'localhost';\n" +
		"FLUSH PRIVILEGES;\n"
}

func mariaDBDSN(addr, password string) string {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.DBName = "vendline", password, "tcp", addr, "vendline"
	c.ParseTime, c.Loc, c.InterpolateParams = true, time.UTC, true
	c.Timeout, c.ReadTimeout, c.WriteTimeout = 5*time.Second, 30*time.Second, 30*time.Second
	c.Params = map[string]string{"time_zone": "'+00:00'"}
	return c.FormatDSN()
}

// mariaDBAnswers selects as the user vendline, whose password nobody else's
// server at this port would know.
func mariaDBAnswers(ctx context.Context, dsn string) error {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	var durable int
	if err := db.QueryRowContext(ctx, "SELECT @@innodb_flush_log_at_trx_commit").Scan(&durable); err != nil {
		return err
	}
	if durable != 1 {
		return fmt.Errorf("innodb_flush_log_at_trx_commit is %d, must be 1", durable)
	}
	return nil
}
