package outbox_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/google/uuid"

	"vendline/cloud/ledger"
	"vendline/cloud/outbox"
	"vendline/deploy/stack"
)

const childDSN = "VENDLINE_TEST_OUTBOX_CHILD" // database that a child process relays from

func TestMain(m *testing.M) {
	if dsn := os.Getenv(childDSN); dsn != "" {
		if err := relayFor(dsn); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func open(ctx context.Context, dsn string) (*ledger.Ledger, error) {
	return ledger.Open(ctx, ledger.MySQL(), dsn, ledger.Options{Clock: time.Now, ID: func() string { return uuid.Must(uuid.NewV7()).String() },
		Token: func() string { return "000000000000" }, Log: slog.New(slog.DiscardHandler)})
}

// relayFor carries rows for ever: it says which ones it claimed, then carries each out
// slowly, by an effect that is made once however often it is tried.
func relayFor(dsn string) error {
	ctx := context.Background()
	l, err := open(ctx, dsn)
	if err != nil {
		return err
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return err
	}
	r := &outbox.Runner{Kind: outbox.KindTimer, Store: l, Lease: 2 * time.Second, Poll: 50 * time.Millisecond, Batch: 20, Log: slog.New(slog.DiscardHandler)}
	r.Carry = func(ctx context.Context, rows []outbox.Row) error {
		fmt.Println("claimed", len(rows))
		for _, row := range rows {
			time.Sleep(5 * time.Millisecond)
			if _, err := db.ExecContext(ctx, "INSERT INTO effect (id, tries) VALUES (?, 1) ON DUPLICATE KEY UPDATE tries = tries + 1", row.ID); err != nil {
				return err
			}
			if err := l.Delete(ctx, row.ID); err != nil {
				return err
			}
		}
		return nil
	}
	r.Run(ctx)
	return nil
}

// relayProcess starts a process that relays, and waits until it holds rows.
func relayProcess(t *testing.T, dsn string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), childDSN+"="+dsn)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	s := bufio.NewScanner(out)
	for s.Scan() {
		if strings.HasPrefix(s.Text(), "claimed") {
			go func() {
				for s.Scan() { // so that it never waits for us
				}
			}()
			return c
		}
	}
	t.Fatal("a relay ended before it claimed anything")
	return nil
}

// Two relays at once, and one of them is killed -9 while it holds rows: none is
// lost, none stays, and those that neither died with had one try.
func TestAKilledRelaysRowsAreCarriedByAnother(t *testing.T) {
	if testing.Short() {
		return // needs MariaDB
	}
	dsn := stack.Need(t).Database(t)
	l, err := open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(q string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), q, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE effect (id VARCHAR(36) NOT NULL PRIMARY KEY, tries INT NOT NULL) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin")
	const rows = 600
	for range rows {
		exec("INSERT INTO local_msg (id, kind, shard, payload, attempts, created_at, due_at) VALUES (?, 'timer', 0, 'x', 0, 1, 1)", uuid.NewString())
	}
	count := func(q string) (n int) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), q).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	relayProcess(t, dsn)
	doomed := relayProcess(t, dsn)
	if err := doomed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	held := count("SELECT COUNT(*) FROM local_msg WHERE attempts > 0")
	for end := time.Now().Add(2 * time.Minute); count("SELECT COUNT(*) FROM local_msg") > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d rows stay", count("SELECT COUNT(*) FROM local_msg"))
		}
	}
	if n := count("SELECT COUNT(*) FROM effect"); n != rows {
		t.Errorf("%d of %d rows were carried out", n, rows)
	}
	if n := count("SELECT COUNT(*) FROM effect WHERE tries > 1"); n > 1 { // the one that it was at
		t.Errorf("%d rows were tried more than once; the dead relay held %d", n, held)
	}
}

// Rows come and go by the hundred thousand; the table's file keeps its size.
func TestTheOutboxsFileDoesNotGrowWithWhatPassedThroughIt(t *testing.T) {
	if testing.Short() {
		return // needs MariaDB
	}
	dsn := stack.Need(t).Database(t)
	l, err := open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	size := func() (n int64) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), "SELECT FILE_SIZE FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME = CONCAT(DATABASE(), '/local_msg')").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const each = 500 // rows of 2 kB, about 1 MB
	round := func() {
		t.Helper()
		var ids []string
		args := make([]any, 0, 2*each)
		for range each {
			id := uuid.NewString()
			ids = append(ids, id)
			args = append(args, id, strings.Repeat("x", 2000))
		}
		q := "INSERT INTO local_msg (id, kind, shard, payload, attempts, created_at, due_at) VALUES " + strings.TrimSuffix(strings.Repeat("(?, 'timer', 0, ?, 0, 1, 1),", each), ",")
		if _, err := db.ExecContext(t.Context(), q, args...); err != nil {
			t.Fatal(err)
		}
		if err := l.Delete(t.Context(), ids...); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		round()
	}
	early := size()
	for range 180 {
		round()
	}
	late := size()
	t.Logf("%d MB after 20 MB of rows, %d MB after 200 MB", early>>20, late>>20)
	if late > 5*early/2+16<<20 {
		t.Errorf("the file grew from %d to %d bytes", early, late)
	}
}
