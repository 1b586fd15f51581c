package drill

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vendline/deploy/stack"
)

// options of a run, from the command line.
type options struct {
	cycles int
	costly int
	links  bool
	only   string
	times  Times
	seed   uint64
	each   bool
	out    string
}

func flags() *options {
	o := &options{}
	flag.IntVar(&o.cycles, "drill.cycles", 1, "how often every fault strikes")
	flag.IntVar(&o.costly, "drill.costly", 0, "in how many of the cycles processes freeze, disks are full and clocks jump, too")
	flag.BoolVar(&o.links, "drill.links", false, "make every link bad in every way in each cycle, not in one way, another each time")
	flag.StringVar(&o.only, "drill.only", "", "strike with the faults that this regular expression matches, only")
	flag.DurationVar(&o.times.Pause, "drill.pause", 4*time.Second, "how long a process is frozen")
	flag.DurationVar(&o.times.Slow, "drill.slow", time.Second, "how long a link is slow, or a clock wrong")
	flag.DurationVar(&o.times.Cut, "drill.cut", 3*time.Second, "how long a link is half open")
	flag.DurationVar(&o.times.Full, "drill.full", 3*time.Second, "how long a disk is full")
	flag.Uint64Var(&o.seed, "drill.seed", 0, "seed of baskets, choices and pauses; 0 draws one")
	flag.BoolVar(&o.each, "drill.each", false, "come to rest and check everything after each fault, not after each cycle")
	flag.StringVar(&o.out, "drill.out", "", "folder for the summary and all logs")
	return o
}

var given = flags()

// drills need real servers; `go test -short` runs none of them.
func drills() map[string]func(*testing.T) {
	if testing.Short() {
		return nil
	}
	return map[string]func(*testing.T){"nothing acknowledged is lost": everyPartIsKilled, "the embedded form with a full disk": embeddedDiskFull}
}

func TestDrill(t *testing.T) {
	for name, run := range drills() {
		t.Run(name, run)
	}
}

func everyPartIsKilled(t *testing.T) {
	plan := NewPlan(given.seed)
	if plan.Seed == 0 {
		plan.Seed = uint64(time.Now().UnixNano())
	}
	fmt.Printf("drill: again: go test ./deploy/drill -run TestDrill -count=1 -v %s -drill.seed=%d\n", asGiven(), plan.Seed)
	bin, err := Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	servers := stack.Own(t, stack.Options{Cabinets: plan.Cabinets, Volumes: volumes(), BrokerIP: announcedIP, RedoLog: "32M"}.All())
	t.Cleanup(func() { keepLogs(t, servers) })
	r := &run{book: NewBook(), began: time.Now(), oversold: map[string]int64{}}
	if r.till, err = OpenTill(t.Context(), servers.Dir, r.book); err != nil {
		t.Fatal(err)
	}
	defer r.till.Close()
	if r.site, err = OpenSite(t.Context(), servers, bin, plan, r.till, r.book, given.times); err != nil {
		t.Fatal(err)
	}
	defer r.site.Close()
	if given.only == "" {
		t.Run("an order's whole life", r.lives)
	}
	defer StartMotors(plan, r.book, r.site.AgentURLs()).Stop()
	for cycle := range given.cycles {
		r.site.Plan.Turn = uint64(cycle)
		scope := Scope{Cycle: cycle, Costly: cycle < given.costly, AllLinks: given.links}
		t.Run(fmt.Sprintf("cycle %d", cycle+1), func(t *testing.T) { r.cycle(t, scope) })
	}
	r.report(t)
	t.Run("the checker sees what is in the stores", r.checkerSees)
}

// asGiven are the flags of this run, to be given again.
func asGiven() string {
	var all []string
	flag.Visit(func(f *flag.Flag) {
		if strings.HasPrefix(f.Name, "drill.") && f.Name != "drill.seed" && f.Name != "drill.out" {
			all = append(all, fmt.Sprintf("-%s=%q", f.Name, f.Value))
		}
	})
	return strings.Join(all, " ")
}

// keepLogs copies the logs before the stack goes.
func keepLogs(t *testing.T, s *stack.Stack) {
	if given.out == "" {
		return
	}
	to := filepath.Join(given.out, "log-"+time.Now().Format("150405"))
	if err := os.CopyFS(to, os.DirFS(filepath.Join(s.Dir, "log"))); err != nil {
		t.Error(err)
	}
}
