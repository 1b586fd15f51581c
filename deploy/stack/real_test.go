//go:build linux

package stack

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
	"github.com/redis/go-redis/v9"
)

// realTests need the servers' programs; `go test -short` runs none of them.
func realTests() map[string]func(*testing.T) {
	if testing.Short() {
		return nil
	}
	return map[string]func(*testing.T){
		"redis keeps a key through a kill":           redisKeepsAKey,
		"mariadb keeps a row through a kill":         mariaDBKeepsARow,
		"mosquitto keeps messages through a kill":    mosquittoKeepsMessages,
		"rocketmq keeps messages through a kill":     rocketMQKeepsMessages,
		"a cabinet speaks under its own id only":     aCabinetSpeaksUnderItsOwnIDOnly,
		"new cabinets disturb nobody":                newCabinetsDisturbNobody,
		"another shared group steals nothing":        anotherGroupStealsNothing,
		"shared subscriptions split the work":        sharedSubscriptionsSplitTheWork,
		"a paused server answers again when resumed": aPausedServerAnswersAgain,
		"stop leaves no process and keeps the data":  stopLeavesNoProcess,
		"two stacks run side by side":                twoStacksRunSideBySide,
		"a start that fails leaves no process":       aFailedStartLeavesNoProcess,
		"tests of one stack are kept apart":          testsAreKeptApart,
		"an added program stops first":               anAddedProgramStopsFirst,
	}
}

func TestRealServers(t *testing.T) {
	for name, run := range realTests() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t)
		})
	}
}

// described is a running stack's description.
func described(t *testing.T, s *Stack) *Description {
	t.Helper()
	d, err := s.Description()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// crash kills a server and starts it again.
func crash(t *testing.T, s *Server) {
	t.Helper()
	before := s.PID()
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if s.PID() != 0 {
		t.Errorf("%s is killed and still has pid %d", s.Name(), s.PID())
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.PID() == before {
		t.Errorf("%s is started again and still has pid %d", s.Name(), before)
	}
}

func redisKeepsAKey(t *testing.T) {
	s := Own(t, Options{Redis: true})
	client := redis.NewClient(&redis.Options{Addr: s.Redis.Addr(), MaxRetries: -1})
	defer client.Close()
	if err := client.Set(t.Context(), "stock:{C001}", "7", 0).Err(); err != nil {
		t.Fatal(err)
	}
	crash(t, s.Redis)
	if got, err := client.Get(t.Context(), "stock:{C001}").Result(); err != nil || got != "7" {
		t.Errorf("the key is %q, error %v", got, err)
	}
}

func mariaDBKeepsARow(t *testing.T) {
	s := Own(t, Options{MariaDB: true})
	db, err := sql.Open("mysql", described(t, s).MySQLDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		"CREATE TABLE t (a INT) ENGINE=InnoDB",
		"INSERT INTO t VALUES (41), (42)",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	crash(t, s.MariaDB)
	var sum int
	if err := db.QueryRowContext(t.Context(), "SELECT SUM(a) FROM t").Scan(&sum); err != nil || sum != 83 {
		t.Errorf("the rows add up to %d, error %v", sum, err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE DATABASE somebody_else"); err == nil {
		t.Error("the user vendline may create databases outside vendline_…")
	}
}

func rocketMQKeepsMessages(t *testing.T) {
	rlog.SetLogLevel("error")
	s := Own(t, Options{RocketMQ: true})
	d := described(t, s)
	topic := d.Topic(t, "StockTopic")
	if err := d.CreateTopic(t.Context(), topic, 4); err != nil {
		t.Fatal(err)
	}
	p, err := producer.NewDefaultProducer(producer.WithNameServer([]string{d.RocketMQ}),
		producer.WithInstanceName(topic), producer.WithGroupName(topic), producer.WithRetry(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		result, err := p.SendSync(t.Context(), primitive.NewMessage(topic, []byte(strconv.Itoa(i))))
		if err != nil || result.Status != primitive.SendOK {
			t.Fatalf("send: %v, error %v", result, err)
		}
	}
	if err := p.Shutdown(); err != nil {
		t.Error(err)
	}
	crash(t, s.Broker)
	crash(t, s.Namesrv)
	if got := messagesIn(t, d.RocketMQBroker, topic, 4); got != 20 {
		t.Errorf("%d of 20 messages are left", got)
	}
	if err := d.CreateTopic(t.Context(), topic+"2", 4); err != nil {
		t.Errorf("after the crashes: %v", err)
	}
}

// messagesIn sums the queues' highest offsets (request code 30).
func messagesIn(t *testing.T, broker, topic string, queues int) int {
	t.Helper()
	sum := 0
	for queue := range queues {
		fields, _, err := remotingCall(t.Context(), broker, 30, map[string]string{"topic": topic, "queueId": strconv.Itoa(queue)}, "")
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(fields["offset"])
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

func aPausedServerAnswersAgain(t *testing.T) {
	s := Own(t, Options{Redis: true})
	answers := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		return redisAnswers(ctx, s.Redis.Addr(), s.Redis.PID())
	}
	if err := s.Redis.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := answers(); err == nil {
		t.Error("a paused server answers")
	}
	if err := s.Redis.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := s.Redis.WaitReady(t.Context()); err != nil {
		t.Error(err)
	}
	// Stop must not wait for a server that cannot hear it.
	if err := s.Redis.Pause(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := s.Redis.Stop(); err != nil || time.Since(begin) > 5*time.Second {
		t.Errorf("stopping a paused server took %v, error %v", time.Since(begin), err)
	}
}

func stopLeavesNoProcess(t *testing.T) {
	dir := t.TempDir()
	s := Own(t, Options{Dir: dir, Cabinets: []string{"C001"}}.All())
	before := described(t, s)
	if len(before.Processes) != 5 {
		t.Errorf("%d processes are recorded", len(before.Processes))
	}
	for _, r := range before.Processes {
		if !r.Alive() {
			t.Errorf("%s is not alive by its record", r.Name)
		}
	}
	if _, err := Start(t.Context(), Options{Dir: dir, Redis: true}); !errors.Is(err, ErrRunning) {
		t.Errorf("a second start in the same folder: %v", err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	nothingRuns(t, dir)
	again, err := Start(t.Context(), Options{Dir: dir, Mosquitto: true, MariaDB: true})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Kill()
	after := described(t, again)
	if after.MQTTPassword != before.MQTTPassword || after.RedisAddr != "" {
		t.Errorf("started again in the same folder, with %+v", after)
	}
}

// nothingRuns finds any process whose command line mentions the folder.
func nothingRuns(t *testing.T, dir string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if text, err := os.ReadFile(line); err == nil && strings.Contains(string(text), dir) {
			t.Errorf("still there: %s %q", line, text)
		}
	}
}

func twoStacksRunSideBySide(t *testing.T) {
	first := Own(t, Options{Redis: true, Mosquitto: true, MariaDB: true})
	second := Own(t, Options{Redis: true, Mosquitto: true, MariaDB: true})
	for i, s := range first.Servers() {
		if other := second.Servers()[i]; s.Addr() == other.Addr() || s.PID() == other.PID() {
			t.Errorf("%s and %s share %s or %d", s.Name(), other.Name(), s.Addr(), s.PID())
		}
	}
	if err := first.Discard(); err != nil {
		t.Error(err)
	}
	for _, s := range second.Servers() {
		if err := s.WaitReady(t.Context()); err != nil {
			t.Errorf("the other stack went: %v", err)
		}
	}
}

func aFailedStartLeavesNoProcess(t *testing.T) {
	other := Own(t, Options{Redis: true})
	_, port, _ := strings.Cut(other.Redis.Addr(), ":")
	taken, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, err = Start(t.Context(), Options{Dir: dir, Redis: true, Mosquitto: true, Ports: Ports{Mosquitto: taken}})
	if err == nil || !strings.Contains(err.Error(), "mosquitto") || !strings.Contains(err.Error(), port) {
		t.Errorf("error %v", err)
	}
	nothingRuns(t, dir)
	// A server that cannot start quotes its log.
	s := Own(t, Options{Redis: true})
	if err := s.Redis.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "redis", "redis.conf"), []byte("nonsense yes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Redis.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("error %v", err)
	}
}

func testsAreKeptApart(t *testing.T) {
	s := Own(t, Options{MariaDB: true})
	d := described(t, s)
	var first string
	t.Run("one test", func(t *testing.T) {
		first = d.Database(t)
		if second := d.Database(t); first == second {
			t.Errorf("two databases are one: %s", first)
		}
		insert(t, first)
	})
	db, err := sql.Open("mysql", first)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.PingContext(t.Context()); err == nil {
		t.Errorf("the test is over and its database is still there: %s", first)
	}
	if a, b := d.CabinetPrefix(t), d.CabinetPrefix(t); a == b || len(a) != 6 || checkCabinet(a) != nil {
		t.Errorf("prefixes %q and %q", a, b)
	}
	if a, b := d.Topic(t, "StockTopic"), d.Topic(t, "StockTopic"); a == b {
		t.Errorf("two topics are one: %s", a)
	}
}

func insert(t *testing.T, dsn string) {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{"CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)"} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

func anAddedProgramStopsFirst(t *testing.T) {
	s := Own(t, Options{Redis: true})
	// It notes, when it is asked to end, whether redis still listens.
	_, port, _ := strings.Cut(s.Redis.Addr(), ":")
	note := filepath.Join(s.Dir, "note")
	script := fmt.Sprintf("trap 'bash -c \"</dev/tcp/127.0.0.1/%s\" && echo there >%s; exit 0' TERM; echo up; while :; do sleep 0.05; done", port, note)
	added, err := s.Add(t.Context(), Process{Name: "vend-cloud", Program: "bash", Args: []string{"-c", script}})
	if err != nil {
		t.Fatal(err)
	}
	r, ok := described(t, s).process("vend-cloud")
	if !ok || !r.Extra || !r.Alive() || r.PID != added.PID() {
		t.Errorf("recorded as %+v", r)
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if text, err := os.ReadFile(added.Log()); err == nil && strings.Contains(string(text), "up") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the program never ran")
		}
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(note); err != nil || string(text) != "there\n" {
		t.Errorf("when it stopped, redis was %q, error %v", text, err)
	}
}
