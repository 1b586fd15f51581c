package dispense

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vendline/edge/outbox"
	"vendline/shared/wire"
)

func TestACommandIsHandedOutOnceHoweverOftenItComes(t *testing.T) {
	r := openRig(t, t.TempDir(), Options{})
	r.offer(vend(1, time.Minute), vend(2, time.Minute))
	r.offer(vend(1, time.Minute), vend(2, time.Minute))
	if got := r.next() + r.next() + r.next(); got != uuid(1)+uuid(2) {
		t.Fatalf("handed out %q", got)
	}
	r.offer(vend(1, time.Minute))
	if got := r.next(); got != "" {
		t.Fatalf("handed out %s again while it is dispensing", got)
	}
	if _, err := r.Result(t.Context(), uuid(1), nil, true); err != nil {
		t.Fatal(err)
	}
	r.offer(vend(1, time.Minute))
	if got := r.next(); got != "" {
		t.Fatalf("handed out %s again when it was done", got)
	}
	if len(r.reports(uuid(1))) != 1 {
		t.Fatalf("%d reports", len(r.reports(uuid(1))))
	}
}

func TestACrowdOfPollersGetsEachCommandOnce(t *testing.T) {
	r := openRig(t, t.TempDir(), Options{})
	var list []wire.Vend
	for n := range 40 {
		list = append(list, vend(n, time.Minute))
	}
	r.offer(list...)
	var got sync.Map
	var total atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for {
				c, ok, err := r.Next(context.Background())
				if err != nil {
					t.Error(err)
				}
				if !ok {
					return
				}
				total.Add(1)
				if _, twice := got.LoadOrStore(c.ID, true); twice {
					t.Errorf("%s was handed out twice", c.ID)
				}
			}
		})
	}
	all.Wait()
	for r.next() != "" { // pollers that met in one commit may have left some
		total.Add(1)
	}
	if total.Load() != 40 {
		t.Fatalf("%d of 40 commands", total.Load())
	}
	if list, err := r.Dispensing(); err != nil || len(list) != 40 || r.Status() != (Status{Dispensing: 40}) {
		t.Fatalf("%d are dispensing, status %+v, %v", len(list), r.Status(), err)
	}
}

func TestTwoPollersThatMeetInOneCommitGetTwoCommands(t *testing.T) {
	r := openRig(t, t.TempDir(), Options{})
	r.offer(vend(1, time.Minute), vend(2, time.Minute))
	var got []string
	if err := r.box.Write(t.Context(), StepHand, func(tx *outbox.Tx) error {
		got = nil
		for range 3 {
			c, _, err := r.hand(tx)
			if err != nil {
				return err
			}
			got = append(got, c.ID)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got[0] != uuid(1) || got[1] != uuid(2) || got[2] != "" {
		t.Fatalf("handed out %q", got)
	}
}

func TestADeadlineCountsFromTheQuestionNotFromTheAnswer(t *testing.T) {
	r := openRig(t, t.TempDir(), Options{})
	q := r.ask()
	r.mono += 59 * time.Second
	r.answer(q, vend(1, time.Minute))
	if c, err := r.Get(uuid(1)); err != nil || c.ExpiresIn != 1000 {
		t.Fatalf("%+v, %v", c, err)
	}
	r.mono += time.Second
	if got := r.next(); got != "" {
		t.Fatalf("%s vended after its deadline", got)
	}
	r.sweep()
	if got := r.reports(uuid(1)); len(got) != 1 || said(got[0]) != "cola expired 0, water expired 0" || r.state(uuid(1)) != Done {
		t.Fatalf("reports %+v", got)
	}
}

func TestALateAnswerNeverVendsAndIsReported(t *testing.T) {
	r := openRig(t, t.TempDir(), Options{})
	q := r.ask()
	r.mono += time.Minute
	r.answer(q, vend(1, time.Minute))
	if got := r.next(); got != "" || r.state(uuid(1)) != Done {
		t.Fatalf("vended %q, state %s", got, r.state(uuid(1)))
	}
	r.answer(r.ask(), vend(1, time.Hour)) // not even if somebody gives it more time
	if got := r.next(); got != "" {
		t.Fatalf("vended %q", got)
	}
	if got := r.reports(uuid(1)); len(got) != 1 || said(got[0]) != "cola expired 0, water expired 0" {
		t.Fatalf("reports %+v", got)
	}
}

func TestAnAnswerToAStrangersQuestionIsIgnored(t *testing.T) {
	r := openRig(t, t.TempDir(), Options{})
	first := r.ask()
	for range keptAsks {
		r.ask()
	}
	r.answer(uuid(777), vend(1, time.Minute))
	r.answer("", vend(1, time.Minute))
	r.answer(first, vend(1, time.Minute)) // too many questions ago
	if got := r.next(); got != "" {
		t.Fatalf("vended %s", got)
	}
}

func TestTheNewestQuestionsAnswerSetsTheDeadlineEvenIfItArrivesFirst(t *testing.T) {
	r := openRig(t, t.TempDir(), Options{})
	one := r.ask()
	r.mono += 10 * time.Second
	two := r.ask()
	r.answer(two, vend(1, 20*time.Second)) // until 0:30
	r.answer(one, vend(1, time.Minute))    // would be 1:00, and is older
	r.mono = 30 * time.Second
	if got := r.next(); got != "" {
		t.Fatal("an older answer moved the deadline")
	}
	r.offer(vend(2, 10*time.Second))
	r.offer(vend(2, 40*time.Second))
	r.mono += 39 * time.Second
	if got := r.next(); got != uuid(2) {
		t.Fatalf("a newer answer did not move the deadline: %q", got)
	}
}

func TestAfterARestartAReadyCommandWaitsForAnAnswer(t *testing.T) {
	dir := t.TempDir()
	r := openRig(t, dir, Options{})
	r.offer(vend(1, time.Minute), vend(2, time.Minute))
	r = r.restart(dir, Options{})
	if got := r.next(); got != "" {
		t.Fatalf("%s was handed out without a deadline", got)
	}
	r.offer(vend(2, 50*time.Second))
	if got := r.next(); got != uuid(2) {
		t.Fatalf("after the answer: %q", got)
	}
	r.mono = time.Minute // the first is over now, whatever happened
	r.sweep()
	if got := r.reports(uuid(1)); len(got) != 1 || said(got[0]) != "cola expired 0, water expired 0" {
		t.Fatalf("reports %+v", got)
	}
}

func TestWhatWasDispensingAtAStartIsUnknownAfterTheGraceAndCanBeCorrected(t *testing.T) {
	dir := t.TempDir()
	r := openRig(t, dir, Options{})
	r.offer(vend(1, time.Minute))
	r.next()
	if _, err := r.Result(t.Context(), uuid(1), []Result{{SKU: "cola", State: wire.Dispensed}}, false); err != nil {
		t.Fatal(err)
	}
	r = r.restart(dir, Options{})
	r.offer(vend(1, time.Minute))
	if got := r.next(); got != "" {
		t.Fatalf("%s was handed out again", got)
	}
	if list, err := r.Dispensing(); err != nil || len(list) != 1 || list[0].Lines[0].State != wire.Dispensed {
		t.Fatalf("%+v, %v", list, err)
	}
	r.mono = 30*time.Second - 1
	r.sweep()
	if len(r.reports(uuid(1))) != 0 {
		t.Fatal("the firmware did not get its grace")
	}
	r.mono = 30 * time.Second
	r.sweep()
	r.sweep()
	if got := r.reports(uuid(1)); len(got) != 1 || said(got[0]) != "cola dispensed 2, water unknown 0" {
		t.Fatalf("reports %+v", got)
	}
	for range 2 {
		if c, err := r.Result(t.Context(), uuid(1), []Result{{SKU: "water", State: wire.Failed}}, false); err != nil || c.State != Done {
			t.Fatalf("%+v, %v", c, err)
		}
	}
	if got := r.reports(uuid(1)); len(got) != 2 || said(got[1]) != "cola dispensed 2, water failed 0" {
		t.Fatalf("reports %+v", got)
	}
	if _, err := r.Result(t.Context(), uuid(1), []Result{{SKU: "water", State: wire.Dispensed}}, false); !errors.Is(err, ErrConflict) {
		t.Fatalf("a third story: %v", err)
	}
}

func TestAFirmwareThatGoesSilentIsReportedTooAndSpeakingGivesItTime(t *testing.T) {
	r := openRig(t, t.TempDir(), Options{Timing: Timing{Result: time.Minute}})
	r.offer(vend(1, time.Hour))
	r.next()
	r.mono += 50 * time.Second
	if _, err := r.Result(t.Context(), uuid(1), []Result{{SKU: "cola", State: wire.Dispensed}}, false); err != nil {
		t.Fatal(err)
	}
	r.mono += 50 * time.Second
	r.sweep()
	if r.state(uuid(1)) != Dispensing {
		t.Fatal("it was at work")
	}
	r.mono += 10 * time.Second
	r.sweep()
	if got := r.reports(uuid(1)); len(got) != 1 || said(got[0]) != "cola dispensed 2, water unknown 0" {
		t.Fatalf("reports %+v", got)
	}
}

func TestWhatAResultMayBe(t *testing.T) {
	r := openRig(t, t.TempDir(), Options{})
	v := vend(1, time.Minute)
	r.offer(v)
	if _, err := r.Result(t.Context(), v.ID, []Result{{SKU: "cola", State: wire.Dispensed}}, false); !errors.Is(err, ErrState) {
		t.Fatalf("before it was handed out: %v", err)
	}
	if _, err := r.Result(t.Context(), uuid(99), nil, true); !errors.Is(err, ErrUnknown) {
		t.Fatalf("of no command: %v", err)
	}
	r.next()
	for field, bad := range map[string]Result{
		"lines[0].sku":    {SKU: "beer", State: wire.Dispensed},
		"lines[0].state":  {SKU: "cola", State: wire.Expired},
		"lines[0].units":  {SKU: "cola", State: wire.Dispensed, Units: units(1)},
		"lines[0].detail": {SKU: "cola", State: wire.Failed, Detail: strings.Repeat("x", wire.MaxDetail+1)},
	} {
		var f *wire.FieldError
		if _, err := r.Result(t.Context(), v.ID, []Result{bad}, false); !errors.As(err, &f) || f.Path != field {
			t.Errorf("%+v: %v, want %s blamed", bad, err, field)
		}
	}
	for _, n := range []int{-1, 2, 3} {
		if _, err := r.Result(t.Context(), v.ID, []Result{{SKU: "cola", State: wire.Failed, Units: units(n)}}, false); err == nil {
			t.Errorf("failed with %d of 2 units", n)
		}
	}
	twice := []Result{{SKU: "cola", State: wire.Failed}, {SKU: "cola", State: wire.Failed}}
	if _, err := r.Result(t.Context(), v.ID, twice, false); err == nil {
		t.Error("a line in two stories")
	}
	if c, _ := r.Get(v.ID); c.Lines[0].State != "" || c.Lines[1].State != "" {
		t.Fatalf("refused results were kept: %+v", c)
	}
	good := []Result{{SKU: "cola", State: wire.Failed, Units: units(1), Detail: "motor stalled"}}
	for range 2 {
		if c, err := r.Result(t.Context(), v.ID, good, false); err != nil || c.State != Dispensing {
			t.Fatalf("%+v, %v", c, err)
		}
	}
	if _, err := r.Result(t.Context(), v.ID, []Result{{SKU: "cola", State: wire.Uncertain}}, false); !errors.Is(err, ErrConflict) {
		t.Fatalf("a definite result was forgotten: %v", err)
	}
	if c, err := r.Result(t.Context(), v.ID, nil, true); err != nil || c.State != Done || c.Event == "" {
		t.Fatalf("%+v, %v", c, err)
	}
	if got := r.reports(v.ID); len(got) != 1 || said(got[0]) != "cola failed 1, water unknown 0" || got[0].Lines[0].Detail != "motor stalled" || got[0].Order != v.Order {
		t.Fatalf("reports %+v", got)
	}
}

func TestAnExpiredCommandTakesNoResult(t *testing.T) {
	r := openRig(t, t.TempDir(), Options{})
	r.offer(vend(1, time.Second))
	r.mono += time.Minute
	r.sweep()
	if _, err := r.Result(t.Context(), uuid(1), []Result{{SKU: "cola", State: wire.Dispensed}}, true); !errors.Is(err, ErrConflict) {
		t.Fatal(err)
	}
}

func TestCommandsThatMakeNoSenseAreIgnoredAndTheRestIsTaken(t *testing.T) {
	r := openRig(t, t.TempDir(), Options{})
	bad := []func(*wire.Vend){
		func(v *wire.Vend) { v.ID = "x" }, func(v *wire.Vend) { v.Order = "" }, func(v *wire.Vend) { v.Lines = nil },
		func(v *wire.Vend) { v.Lines[0].Qty = -1 }, func(v *wire.Vend) { v.ExpiresIn = 1 << 62 },
	}
	var list []wire.Vend
	for i, spoil := range bad {
		v := vend(10+i, time.Minute)
		spoil(&v)
		list = append(list, v)
	}
	negative := vend(20, 0)
	negative.ExpiresIn = -5
	r.offer(append(list, negative, vend(1, time.Minute))...)
	if got := r.next() + r.next(); got != uuid(1) {
		t.Fatalf("handed out %q", got)
	}
	if got := r.reports(negative.ID); len(got) != 1 {
		t.Fatalf("one that was over before it came: %+v", got)
	}
}

func TestACommandThatRunsOutWhileTheDiskIsBusyIsNotHandedOut(t *testing.T) {
	var r *rig
	r = openBox(t, outbox.Options{Dir: t.TempDir(), Cabinet: "C001", Hook: func(s outbox.Step, after bool) error {
		if s == StepHand && !after {
			r.mono += time.Minute // a very slow card
		}
		return nil
	}}, Options{})
	r.offer(vend(1, 30*time.Second))
	if got := r.next(); got != "" {
		t.Fatalf("%s was handed out over its deadline", got)
	}
	if got := r.reports(uuid(1)); len(got) != 1 || said(got[0]) != "cola expired 0, water expired 0" {
		t.Fatalf("reports %+v", got)
	}
}

func TestTheHistoryIsBoundedByCountAndByWhatCouldStillBeOffered(t *testing.T) {
	dir := t.TempDir()
	r := openRig(t, dir, Options{History: 3})
	done := func(n int) {
		t.Helper()
		r.offer(vend(n, time.Minute))
		if r.next() != uuid(n) {
			t.Fatalf("command %d was not handed out", n)
		}
		if _, err := r.Result(t.Context(), uuid(n), nil, true); err != nil {
			t.Fatal(err)
		}
	}
	for n := 1; n <= 6; n++ {
		done(n)
	}
	if r.state(uuid(1)) != Done {
		t.Fatal("forgotten while an answer could still name it")
	}
	r.mono += linger + 2*time.Minute
	done(7)
	if _, err := r.Get(uuid(1)); !errors.Is(err, ErrUnknown) {
		t.Fatalf("never forgotten: %v", err)
	}
	if r.state(uuid(5)) != Done || r.state(uuid(7)) != Done {
		t.Fatal("forgotten too soon")
	}
	r = r.restart(dir, Options{History: 3})
	done(8)
	if r.state(uuid(5)) != Done {
		t.Fatal("a restart makes old commands no older")
	}
}

func TestAskingAgainForTheForgottenReportsNothingTwice(t *testing.T) {
	r := openRig(t, t.TempDir(), Options{History: 1})
	r.offer(vend(1, time.Minute))
	r.next()
	if _, err := r.Result(t.Context(), uuid(1), []Result{{SKU: "cola", State: wire.Dispensed}, {SKU: "water", State: wire.Dispensed}}, false); err != nil {
		t.Fatal(err)
	}
	r.mono += 2 * linger
	for n := 2; n < 5; n++ {
		r.offer(vend(n, 0))
	}
	if _, err := r.Get(uuid(1)); !errors.Is(err, ErrUnknown) {
		t.Fatalf("the test wants it forgotten: %v", err)
	}
	r.offer(vend(1, 0)) // how it could still be named: over
	if got := r.next(); got != "" || len(r.reports(uuid(1))) != 1 {
		t.Fatalf("vended %q, reports %+v", got, r.reports(uuid(1)))
	}
}

func TestAfterAJournalWasLostNothingThatWaitedIsVendedAgain(t *testing.T) {
	dir := t.TempDir()
	lost := Options{Lost: true}
	r := openRig(t, dir, lost)
	r = r.restart(dir, lost) // and a restart is no answer
	r.offer(vend(1, time.Minute))
	if got := r.next(); got != "" {
		t.Fatalf("%s may have been vended before", got)
	}
	if got := r.reports(uuid(1)); len(got) != 1 || said(got[0]) != "cola unknown 0, water unknown 0" {
		t.Fatalf("reports %+v", got)
	}
	r.offer(vend(1, time.Minute), vend(2, time.Minute)) // the second is new
	if got := r.next() + r.next(); got != uuid(2) {
		t.Fatalf("then handed out %q", got)
	}
	if _, err := r.Result(t.Context(), uuid(1), []Result{{SKU: "cola", State: wire.Dispensed}, {SKU: "water", State: wire.Failed}}, false); err != nil {
		t.Fatal(err)
	}
	r = r.restart(dir, lost)
	r.offer(vend(3, time.Minute))
	if got := r.next(); got != uuid(3) {
		t.Fatalf("cautious for ever: %q", got)
	}
}
