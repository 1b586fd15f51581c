package drill

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"vendline/deploy/stack"
)

// options of a run, from the command line.
type options struct {
	cycles int
	seed   uint64
	each   bool
	out    string
}

func flags() *options {
	o := &options{}
	flag.IntVar(&o.cycles, "drill.cycles", 1, "how often every fault strikes")
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
	return map[string]func(*testing.T){"nothing acknowledged is lost": everyPartIsKilled}
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
	fmt.Printf("drill: seed %d; again: go test ./deploy/drill -run TestDrill -count=1 -v -drill.cycles=%d -drill.each=%v -drill.seed=%d\n",
		plan.Seed, given.cycles, given.each, plan.Seed)
	bin, err := Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	servers := stack.Own(t, stack.Options{Cabinets: plan.Cabinets}.All())
	t.Cleanup(func() { keepLogs(t, servers) })
	r := &run{book: NewBook(), began: time.Now(), oversold: map[string]int64{}}
	if r.till, err = OpenTill(t.Context(), servers.Dir, r.book); err != nil {
		t.Fatal(err)
	}
	defer r.till.Close()
	if r.site, err = OpenSite(t.Context(), servers, bin, plan, r.till); err != nil {
		t.Fatal(err)
	}
	defer r.site.Close()
	t.Run("an order's whole life", r.lives)
	defer StartMotors(plan, r.book, r.site.AgentURLs()).Stop()
	for cycle := range given.cycles {
		r.site.Plan.Turn = uint64(cycle)
		t.Run(fmt.Sprintf("cycle %d", cycle+1), r.cycle)
	}
	r.report(t)
	t.Run("the checker sees what is in the stores", r.checkerSees)
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
