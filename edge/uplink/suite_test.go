package uplink_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"vendline/edge/outbox"
	"vendline/edge/standin"
	"vendline/edge/uplink"
	"vendline/shared/wire"
)

// limit bounds waits for what must happen; no test depends on how long it takes.
const limit = 60 * time.Second

// server is a broker that the suite runs over.
type server struct {
	url             string
	user, password  string // of the cloud
	cabinetPassword func(cabinet string) string
	kill, start     func() // both nil if the broker is shared with others
}

// suite holds for every broker. up returns one that the test may kill.
func suite(t *testing.T, up func(t *testing.T, cabinets ...string) server) {
	for _, c := range []struct {
		promise string
		check   func(*testing.T, server, string)
	}{
		{"rows arrive in order and leave when answered", rowsArriveInOrder},
		{"a refusal settles and a retryable one does not", refusalsSettle},
		{"a broker killed mid-stream loses nothing", brokerKilled},
		{"a sent row stays over a reconnect until it is answered", tokensDeleteNothing},
		{"an answer that was not stored is delivered again", unstoredAnswerComesAgain},
		{"birth and will name one session, the next birth another", sessions},
		{"verdicts of another epoch, cabinet or id change nothing", strangeVerdicts},
		{"bad rows are parked and the rest flows", badRows},
		{"a cabinet that starts without a network delivers later", noNetwork},
		{"two agents with one identity are noticed and lose nothing", twoAgents},
		{"a stock command reaches the shelf", stockCommand},
		{"a count is alone under way, past rows put off and rows parked", countsAreBarriers},
		{"a cloud that answers nothing is noticed behind its broker", silentCloud},
	} {
		t.Run(c.promise, func(t *testing.T) {
			cabinet := "T" + strings.ToUpper(fmt.Sprintf("%x", time.Now().UnixNano()))
			c.check(t, up(t, cabinet), cabinet)
		})
	}
}

func rowsArriveInOrder(t *testing.T, s server, cabinet string) {
	ctx := deadline(t)
	cloud := s.cloud(t, cabinet, nil)
	box := openBox(t, cabinet, t.TempDir())
	fill(t, box, 1, 300)
	run(t, box, s, cabinet, uplink.Config{})
	fill(t, box, 301, 400)
	drained(ctx, t, box)
	seen := cloud.Seen()
	if len(seen.Bad) > 0 {
		t.Fatal(seen.Bad)
	}
	next := int64(1)
	for _, e := range seen.Events {
		if e.Seq > next {
			t.Fatalf("seq %d came before %d", e.Seq, next)
		}
		if e.Seq == next {
			next++
		}
	}
	if next != 401 {
		t.Fatalf("the cloud has seen up to %d", next-1)
	}
}

func refusalsSettle(t *testing.T, s server, cabinet string) {
	ctx := deadline(t)
	var mu sync.Mutex
	fenced := true
	s.cloud(t, cabinet, func(_ wire.Channel, e wire.Event) *wire.Verdict {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case e.Seq == 1:
			return &wire.Verdict{Code: wire.CodeStockShort}
		case e.Seq == 2 && fenced:
			return &wire.Verdict{Code: wire.CodeFenced, Detail: "rebuilding"}
		}
		return &wire.Verdict{Code: wire.Accepted}
	})
	box := openBox(t, cabinet, t.TempDir())
	for n := 1; n <= 3; n++ {
		order(t, box, n)
	}
	u := run(t, box, s, cabinet, uplink.Config{})
	eventually(ctx, t, "the reason is shown while the row waits", func() bool {
		code, say := u.Reason(2)
		return code == wire.CodeFenced && say == "rebuilding" && box.Depth() == 1
	})
	if f, err := box.Lookup(id(1)); err != nil || f.Outcome.Code != wire.CodeStockShort {
		t.Fatalf("the refusal: %+v, %v", f, err)
	}
	if f, err := box.Lookup(id(2)); err != nil || f.Settled {
		t.Fatalf("a retryable verdict settled the row: %+v, %v", f, err)
	}
	mu.Lock()
	fenced = false
	mu.Unlock()
	drained(ctx, t, box)
	if f, err := box.Lookup(id(2)); err != nil || f.Outcome.Code != wire.Accepted {
		t.Fatalf("then: %+v, %v", f, err)
	}
}

func brokerKilled(t *testing.T, s server, cabinet string) {
	ctx := deadline(t)
	cloud := s.cloud(t, cabinet, nil)
	box := openBox(t, cabinet, t.TempDir())
	run(t, box, s, cabinet, uplink.Config{})
	for round := range 3 {
		fill(t, box, 1+round*200, 200+round*200)
		if _, err := cloud.Until(ctx, func(seen standin.Seen) bool { return len(seen.IDs()) > round*200+20 }); err != nil {
			t.Fatal(err)
		}
		s.kill()
		fill(t, box, 10_000+round*10, 10_009+round*10) // sold while there is no broker
		s.start()
	}
	drained(ctx, t, box)
	if got := len(cloud.Seen().IDs()); got != 630 {
		t.Fatalf("the cloud has %d of 630 events", got)
	}
}

func tokensDeleteNothing(t *testing.T, s server, cabinet string) {
	ctx := deadline(t)
	var mu sync.Mutex
	silent := true
	cloud := s.cloud(t, cabinet, func(wire.Channel, wire.Event) *wire.Verdict {
		mu.Lock()
		defer mu.Unlock()
		if silent {
			return nil
		}
		return &wire.Verdict{Code: wire.Accepted}
	})
	net := cutter(t, s.url)
	box := openBox(t, cabinet, t.TempDir())
	fill(t, box, 1, 40)
	u := run(t, box, s, cabinet, uplink.Config{Broker: net.url()})
	for range 3 {
		if _, err := cloud.Until(ctx, func(seen standin.Seen) bool { return len(seen.IDs()) >= 16 }); err != nil {
			t.Fatal(err)
		}
		session := u.Status().Session
		net.cut()
		eventually(ctx, t, "a new session", func() bool { st := u.Status(); return st.Connected && st.Session != session })
		if box.Depth() != 40 {
			t.Fatalf("%d of 40 rows are left, and nothing was answered", box.Depth())
		}
	}
	mu.Lock()
	silent = false
	mu.Unlock()
	drained(ctx, t, box)
}

// unstoredAnswerComesAgain has the cloud answer each order once only, and the
// agent die between hearing it and storing it.
func unstoredAnswerComesAgain(t *testing.T, s server, cabinet string) {
	ctx := deadline(t)
	var answered sync.Map
	s.cloud(t, cabinet, func(_ wire.Channel, e wire.Event) *wire.Verdict {
		if _, again := answered.LoadOrStore(e.ID, true); again {
			return nil
		}
		return &wire.Verdict{Code: wire.Accepted}
	})
	box := openBox(t, cabinet, t.TempDir())
	order(t, box, 1)
	deaf := &deafBox{Outbox: box, heard: make(chan struct{}, 8)}
	_, stop := runStoppable(t, deaf, s, cabinet, uplink.Config{})
	select {
	case <-deaf.heard:
	case <-ctx.Done():
		t.Fatal("no verdict came")
	}
	stop()
	run(t, box, s, cabinet, uplink.Config{})
	drained(ctx, t, box)
}

// deafBox hears answers and never gets to store them.
type deafBox struct {
	*outbox.Outbox
	heard chan struct{}
}

func (d *deafBox) Settle(ctx context.Context, answers []outbox.Answer) error {
	if len(answers) == 0 {
		return nil
	}
	d.heard <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

func sessions(t *testing.T, s server, cabinet string) {
	ctx := deadline(t)
	cloud := s.cloud(t, cabinet, nil)
	net := cutter(t, s.url)
	box := openBox(t, cabinet, t.TempDir())
	_, stop := runStoppable(t, box, s, cabinet, uplink.Config{Broker: net.url(), Agent: "v9"})
	births := func(seen standin.Seen) (on []wire.State) {
		for _, st := range seen.States {
			if st.Online {
				on = append(on, st)
			}
		}
		return on
	}
	seen := until(ctx, t, cloud, func(seen standin.Seen) bool { return len(births(seen)) == 1 && len(seen.Beats) > 0 })
	first := births(seen)[0]
	if first.Agent != "v9" || first.Epoch != box.Epoch() || first.Gap || seen.Beats[0].Session != first.Session {
		t.Fatalf("birth %+v, beat %+v", first, seen.Beats[0])
	}
	net.cut()
	seen = until(ctx, t, cloud, func(seen standin.Seen) bool {
		return len(births(seen)) == 2 && slices.ContainsFunc(seen.States, func(st wire.State) bool { return !st.Online && st.Session == first.Session })
	})
	second := births(seen)[1]
	if second.Session == first.Session {
		t.Fatal("a late will could take the new session for dead")
	}
	stop()
	until(ctx, t, cloud, func(seen standin.Seen) bool {
		last := seen.States[len(seen.States)-1]
		return !last.Online && last.Session == second.Session
	})
}

func strangeVerdicts(t *testing.T, s server, cabinet string) {
	ctx := deadline(t)
	cloud := s.cloud(t, cabinet, func(_ wire.Channel, e wire.Event) *wire.Verdict {
		if e.Seq == 1 {
			return nil
		}
		return &wire.Verdict{Code: wire.Accepted}
	})
	box := openBox(t, cabinet, t.TempDir())
	order(t, box, 1)
	run(t, box, s, cabinet, uplink.Config{})
	until(ctx, t, cloud, func(seen standin.Seen) bool { return seen.Total > 0 })
	ok := wire.Verdict{V: 1, ID: id(1), Cabinet: cabinet, Epoch: box.Epoch(), Seq: 1, Code: wire.Accepted}
	for _, spoil := range []func(*wire.Verdict){
		func(v *wire.Verdict) { v.Epoch = id(77) },
		func(v *wire.Verdict) { v.Cabinet = "other" },
		func(v *wire.Verdict) { v.ID = id(88) },
		func(v *wire.Verdict) { v.V = 2 },
		func(v *wire.Verdict) { v.Seq = 99 },
		func(v *wire.Verdict) { v.Code = "" },
	} {
		v := ok
		spoil(&v)
		cloud.Send(cabinet, wire.ChannelVerdict, v)
	}
	cloud.Send(cabinet, wire.ChannelAck, wire.Ack{V: 1, Cabinet: cabinet, Epoch: id(77), Seqs: []int64{1}})
	cloud.Send(cabinet, wire.ChannelVerdict, "not a verdict")
	order(t, box, 2) // whose verdict comes after all of these
	eventually(ctx, t, "the row behind is answered", func() bool { f, err := box.Lookup(id(2)); return err == nil && f.Settled })
	if f, err := box.Lookup(id(1)); err != nil || f.Settled {
		t.Fatalf("settled by a stranger: %+v, %v", f, err)
	}
	cloud.Send(cabinet, wire.ChannelVerdict, ok)
	drained(ctx, t, box)
}

func badRows(t *testing.T, s server, cabinet string) {
	ctx := deadline(t)
	cloud := s.cloud(t, cabinet, func(_ wire.Channel, e wire.Event) *wire.Verdict {
		if e.ID == id(4) {
			return &wire.Verdict{Code: wire.CodeInvalidRequest, Detail: "qty of line 0"}
		}
		return &wire.Verdict{Code: wire.Accepted}
	})
	dir := t.TempDir()
	oldFile(t, dir, cabinet, map[int64][]byte{
		1: oldRow(cabinet, id(1), "u1"),
		2: oldRow(cabinet, id(2), strings.Repeat("u", 2<<20)),
		3: []byte("{ not a row"),
		4: oldRow(cabinet, id(4), "u1"),
		5: oldRow(cabinet, id(5), "u1"),
	})
	box := openBox(t, cabinet, dir)
	order(t, box, 6)
	run(t, box, s, cabinet, uplink.Config{})
	drained(ctx, t, box)
	stones, err := box.Tombstones(10)
	if err != nil || len(stones) != 3 {
		t.Fatalf("tombstones %+v, %v", stones, err)
	}
	got := cloud.Seen().IDs()
	for n, want := range map[int]bool{1: true, 2: false, 4: true, 5: true, 6: true} {
		if (got[id(n)] > 0) != want {
			t.Errorf("event %d came %d times", n, got[id(n)])
		}
	}
	if f, err := box.Lookup(id(2)); err != nil || f.Outcome.Code != wire.CodeTooLarge {
		t.Errorf("the oversize order: %+v, %v", f, err)
	}
}

func noNetwork(t *testing.T, s server, cabinet string) {
	ctx := deadline(t)
	s.kill()
	box := openBox(t, cabinet, t.TempDir())
	u := run(t, box, s, cabinet, uplink.Config{})
	fill(t, box, 1, 50)
	eventually(ctx, t, "a failed connect", func() bool { return u.Status().LastError != "" })
	s.start()
	s.cloud(t, cabinet, nil)
	drained(ctx, t, box)
}

func twoAgents(t *testing.T, s server, cabinet string) {
	ctx := deadline(t)
	s.cloud(t, cabinet, nil)
	one, two := openBox(t, cabinet, t.TempDir()), openBox(t, cabinet, t.TempDir())
	timing := uplink.Timing{Quick: time.Hour, ConflictMax: 300 * time.Millisecond}
	a := run(t, one, s, cabinet, uplink.Config{Timing: timing})
	b, stopB := runStoppable(t, two, s, cabinet, uplink.Config{Timing: timing})
	eventually(ctx, t, "both say so", func() bool {
		return strings.Contains(a.Status().Conflict, "another agent uses cabinet "+cabinet) && b.Status().Conflict != ""
	})
	fill(t, one, 1, 20)
	fill(t, two, 101, 120)
	drained(ctx, t, one)
	drained(ctx, t, two)
	stopB()
}

func stockCommand(t *testing.T, s server, cabinet string) {
	ctx := deadline(t)
	cloud := s.cloud(t, cabinet, nil)
	got := make(chan wire.Command, 8)
	box := openBox(t, cabinet, t.TempDir())
	u := run(t, box, s, cabinet, uplink.Config{Command: func(_ context.Context, c wire.Command) { got <- c }})
	eventually(ctx, t, "connected", func() bool { return u.Status().Connected })
	cloud.Send(cabinet, wire.ChannelCommand, wire.Command{V: 1, Cabinet: cabinet, Kind: wire.CommandStock, Stock: []wire.StockLine{{SKU: "cola", Sellable: 7}}})
	select {
	case c := <-got:
		if c.Stock[0].Sellable != 7 {
			t.Fatalf("%+v", c)
		}
	case <-ctx.Done():
		t.Fatal("no command came")
	}
}

// countsAreBarriers mixes counts into a stream of which the cloud puts some off,
// refuses some for good and answers some late, over a network that is cut.
func countsAreBarriers(t *testing.T, s server, cabinet string) {
	ctx := deadline(t)
	const rows = 120
	isCount := func(n int) bool { return n%9 == 0 }
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(1, 2))
	answered, tries := make(map[int64]bool), make(map[int64]int)
	s.cloud(t, cabinet, func(_ wire.Channel, e wire.Event) *wire.Verdict {
		mu.Lock()
		defer mu.Unlock()
		if !answered[e.Seq] {
			for n := int64(1); n <= rows; n++ {
				if n < e.Seq && !answered[n] && (isCount(int(e.Seq)) || isCount(int(n))) || n > e.Seq && answered[n] && isCount(int(e.Seq)) {
					t.Errorf("row %d came, and row %d is answered: %v", e.Seq, n, answered[n])
				}
			}
		}
		if tries[e.Seq]++; tries[e.Seq] < 3 && rng.IntN(3) == 0 {
			if e.Order != nil && rng.IntN(2) == 0 {
				return &wire.Verdict{Code: wire.CodeFenced}
			}
			return nil
		}
		answered[e.Seq] = true
		if e.Order != nil && e.Seq%7 == 0 {
			return &wire.Verdict{Code: wire.CodeInvalidRequest, Detail: "parked here"}
		}
		return &wire.Verdict{Code: wire.Accepted}
	})
	net := cutter(t, s.url)
	box := openBox(t, cabinet, t.TempDir())
	for n := 1; n <= rows; n++ {
		if !isCount(n) {
			order(t, box, n)
			continue
		}
		f := &wire.Fact{Kind: wire.FactStocktake, Counts: []wire.Count{{SKU: "cola", Units: n}}}
		if _, err := box.Append(ctx, outbox.Entry{ID: id(n), Fact: f}); err != nil {
			t.Fatal(err)
		}
	}
	run(t, box, s, cabinet, uplink.Config{Window: 7, Broker: net.url(), Timing: uplink.Timing{Resend: 30 * time.Millisecond, ResendMax: 100 * time.Millisecond}})
	for left := int64(rows - 30); left > 0; left -= 30 {
		eventually(ctx, t, "rows leave", func() bool { return box.Depth() <= left })
		net.cut()
	}
	drained(ctx, t, box)
}

func silentCloud(t *testing.T, s server, cabinet string) {
	ctx := deadline(t)
	box := openBox(t, cabinet, t.TempDir())
	u := run(t, box, s, cabinet, uplink.Config{})
	eventually(ctx, t, "connected", func() bool { return u.Status().Connected })
	if owed := u.Status().Owed; owed != 0 {
		t.Fatalf("nothing was asked, and %v are owed", owed)
	}
	if !u.Ask(wire.Ask{V: 1, Cabinet: cabinet, ID: id(1)}) {
		t.Fatal("no connection")
	}
	eventually(ctx, t, "an answer is owed", func() bool { return u.Status().Owed > 50*time.Millisecond })
	cloud := s.cloud(t, cabinet, nil)
	cloud.Wake(cabinet)
	eventually(ctx, t, "the cloud spoke", func() bool { return u.Status().Owed == 0 })
}
