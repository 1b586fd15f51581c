//go:build linux

package stack

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// recordingT stands for a test whose failure is what is checked.
type recordingT struct{ fatal string }

func (r *recordingT) Helper()                        {}
func (r *recordingT) Name() string                   { return "TestOfSomebody" }
func (r *recordingT) Failed() bool                   { return r.fatal != "" }
func (r *recordingT) Logf(string, ...any)            {}
func (r *recordingT) Errorf(f string, a ...any)      { r.Fatalf(f, a...) }
func (r *recordingT) Fatalf(format string, a ...any) { r.fatal = fmt.Sprintf(format, a...) }
func (r *recordingT) Cleanup(func())                 {}

func TestNeedFailsAndNamesTheCommandWithoutAStack(t *testing.T) {
	t.Setenv(EnvName, "")
	rec := &recordingT{}
	if d := Need(rec); d != nil || !strings.Contains(rec.fatal, "make test") || !strings.Contains(rec.fatal, "stack run") {
		t.Errorf("Need gave %v and said %q", d, rec.fatal)
	}
	t.Setenv(EnvName, filepath.Join(t.TempDir(), "stack.json"))
	rec = &recordingT{}
	if d := Need(rec); d != nil || !strings.Contains(rec.fatal, "vend stack up") {
		t.Errorf("Need gave %v and said %q", d, rec.fatal)
	}
}

func TestNeedFindsTheStackOfTheRun(t *testing.T) {
	dir := t.TempDir()
	s := &Stack{Dir: dir}
	if err := edit(dir, func(d *Description) error { d.RedisAddr = "127.0.0.1:1"; return nil }); err != nil {
		t.Fatal(err)
	}
	name, value, _ := strings.Cut(s.Env(), "=")
	t.Setenv(name, value)
	if d := Need(t); d.RedisAddr != "127.0.0.1:1" || d.Dir != dir {
		t.Errorf("found %+v", d)
	}
}

func TestAMissingProgramIsAnErrorThatNamesIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Start(context.Background(), Options{Dir: t.TempDir(), Redis: true})
	if err == nil || !strings.Contains(err.Error(), "redis-server") || !strings.Contains(err.Error(), "apt-get install redis-server") {
		t.Errorf("error %v", err)
	}
}

func TestOptionsAreCheckedBeforeAnythingStarts(t *testing.T) {
	for name, o := range map[string]Options{
		"no folder":               {Redis: true},
		"a cabinet called cloud":  {Dir: t.TempDir(), Cabinets: []string{"cloud"}},
		"a wildcard in a cabinet": {Dir: t.TempDir(), Cabinets: []string{"C+1"}},
		"a cabinet with no name":  {Dir: t.TempDir(), Cabinets: []string{""}},
	} {
		if _, err := Start(context.Background(), o); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestATakenPortIsDrawnAgainButAFixedOneIsAnError(t *testing.T) {
	var ports []int
	err := onPort(context.Background(), "it", 0, nil, func(port int) error {
		if ports = append(ports, port); len(ports) < 3 {
			return fmt.Errorf("start: %w", errPortTaken)
		}
		return nil
	})
	if err != nil || len(ports) != 3 {
		t.Errorf("ports %v, error %v", ports, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fixed := l.Addr().(*net.TCPAddr).Port
	err = onPort(context.Background(), "it", fixed, nil, func(int) error { return errors.New("must not start") })
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint(fixed)) || strings.Contains(err.Error(), "must not") {
		t.Errorf("error %v", err)
	}
	// RocketMQ's broker needs its neighbours, too.
	if err := onPort(context.Background(), "it", fixed+2, []int{-2, 1}, func(int) error { return nil }); err == nil {
		t.Error("a taken neighbour went unnoticed")
	}
}

func TestFreePortsStayBelowThoseOfOutgoingConnections(t *testing.T) {
	for range 50 {
		port, err := freePort(-2, 1)
		if err != nil || port < firstFree || port > lastFree {
			t.Fatalf("port %d, error %v", port, err)
		}
	}
}

func TestConcurrentEditsOfTheDescriptionAllArrive(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			err := edit(dir, func(d *Description) error {
				d.put(Record{Name: fmt.Sprint("p", i)})
				d.MySQLDSN = "u@tcp(h)/d?a=1&b=2"
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	d, err := Load(dir)
	if err != nil || len(d.Processes) != 20 {
		t.Fatalf("%d of 20 processes, error %v", len(d.Processes), err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "stack.json"))
	if err != nil || !strings.Contains(string(text), "a=1&b=2") {
		t.Errorf("a reader without a JSON library would not find the DSN in %s, error %v", text, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "stack.json"), text[:10], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil {
		t.Error("a damaged description was loaded")
	}
}

func TestARecycledPidIsNotOurProcess(t *testing.T) {
	args, started, err := identity(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	us := Record{PID: os.Getpid(), Started: started, Args: args}
	earlier, other, gone := us, us, us
	earlier.Started, other.Args, gone.PID = "1", []string{"redis-server"}, 1<<30
	if !us.Alive() || earlier.Alive() || other.Alive() || gone.Alive() {
		t.Errorf("alive: us %t, earlier %t, other %t, gone %t", us.Alive(), earlier.Alive(), other.Alive(), gone.Alive())
	}
	// Down must leave such a process alone: we are still here after it.
	dir := t.TempDir()
	if err := edit(dir, func(d *Description) error { d.Processes = []Record{earlier, other, gone}; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := Down(context.Background(), dir, io.Discard); err != nil {
		t.Error(err)
	}
}

func TestSecretsAreDrawnOnceAndForTheirOwnerOnly(t *testing.T) {
	dir := t.TempDir()
	first, err := secret(dir, "mqtt", "C001")
	if err != nil {
		t.Fatal(err)
	}
	again, err := secret(dir, "mqtt", "C001")
	if err != nil || again != first || len(first) < 20 {
		t.Errorf("%q, then %q, error %v", first, again, err)
	}
	info, err := os.Stat(secretPath(dir, "mqtt", "C001"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
}

func TestRemotingReadsAnswersAndRefusesWhatIsNone(t *testing.T) {
	frame := func(header, body string) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(4+len(header)+len(body)))
		b = binary.BigEndian.AppendUint32(b, uint32(len(header)))
		return append(append(b, header...), body...)
	}
	for _, c := range []struct {
		name   string
		answer []byte
		body   string
		fails  string
	}{
		{"success", frame(`{"code":0}`, "hello"), "hello", ""},
		{"refusal", frame(`{"code":17,"remark":"no route"}`, ""), "", "no route"},
		{"another protocol", []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), "", "protocol"},
		{"cut short", frame(`{"code":0}`, "hello")[:12], "", "EOF"},
	} {
		_, body, err := remotingResponse(strings.NewReader(string(c.answer)))
		if string(body) != c.body || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %q, error %v", c.name, body, err)
		}
	}
}

func TestLogTailsBelongToTheirRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	if err := os.WriteFile(path, []byte("before\none\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := lastLines(logSince(path, 7), 2); got != "    two\n    three" {
		t.Errorf("%q", got)
	}
	if got := lastLines(logSince(path, 7), 9); strings.Contains(got, "before") {
		t.Errorf("%q", got)
	}
}

func TestTheMavenProjectNamesTheThreePartsAtOneVersion(t *testing.T) {
	pom := jarsPom()
	for _, part := range []string{"rocketmq-namesrv", "rocketmq-broker", "rocketmq-tools"} {
		if !strings.Contains(pom, "<artifactId>"+part+"</artifactId><version>"+rocketMQVersion+"</version>") {
			t.Errorf("%s is missing in %s", part, pom)
		}
	}
}

func TestConfigurationsKeepWhatDurabilityStandsOn(t *testing.T) {
	for file, c := range map[string]struct{ text, line string }{
		"redis everysec":         {redisConf("/d", 1), "appendfsync everysec"},
		"redis append":           {redisConf("/d", 1), "appendonly yes"},
		"redis never evicts":     {redisConf("/d", 1), "maxmemory-policy noeviction"},
		"mariadb commits":        {mariaDBConf("/d", 1, Options{}), "innodb_flush_log_at_trx_commit = 1"},
		"mosquitto saves":        {mosquittoConf("/d", 1), "persistence true"},
		"mosquitto saves soon":   {mosquittoConf("/d", 1), "autosave_interval 1"},
		"mosquitto saves rarely": {mosquittoConf("/d", 1), "autosave_on_changes false"},
		"mosquitto asks who":     {mosquittoConf("/d", 1), "allow_anonymous false"},
		"rocketmq timers":        {brokerConf("/d", "b", host, 1, 4, "ASYNC_FLUSH"), "timerWheelEnable=true"},
		"rocketmq on full disks": {brokerConf("/d", "b", host, 1, 4, "ASYNC_FLUSH"), "diskMaxUsedSpaceRatio=95"},
	} {
		if !slices.Contains(strings.Split(c.text, "\n"), c.line) {
			t.Errorf("%s: no line %q in\n%s", file, c.line, c.text)
		}
	}
}

// A cabinet must not be allowed in a container what it is refused here.
func TestTheContainersHaveTheSameRightsAtTheBroker(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "compose", "acl"))
	if err != nil || string(text) != mosquittoACL {
		t.Errorf("deploy/compose/acl differs, error %v:\n%s", err, text)
	}
}
