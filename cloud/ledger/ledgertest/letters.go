package ledgertest

import (
	"strings"
	"testing"
)

func letters() []promise {
	return []promise{
		{"a dead letter keeps message, reason and origin", letterKept},
		{"any bytes can be buried: none, binary, with any reason", letterAnything},
		{"what is buried again is the same letter, with its attempts added", letterAgain},
		{"buried by many at once it is one letter", letterBeside},
		{"a letter's outbox row goes with its burial", letterTakesRow},
		{"letters are found by page, state, source, cabinet, id and text", letterFound},
		{"a redriven statement is applied once, and holds the watermark until then", redriveStock},
		{"a statement that fails again after its redrive is the same letter", redriveFails},
		{"a dry run changes nothing", redriveDry},
		{"of many redrives at once one sends", redriveTwice},
		{"a redrive writes row, state and history, or nothing", redriveAtomic},
		{"every source goes back the way it came, or says why not", redriveSources},
		{"a redriven callback keeps its id, and comes back as the same letter", redriveCallback},
		{"a redriven effect rebuilds its cabinets instead", redriveEffect},
		{"stock keeps a statement that it needs", discardNeeded},
		{"a statement that a later one has overtaken may go", discardOvertaken},
		{"a statement about nothing may go", discardNothing},
		{"a fact that is not in stock may not go", discardFact},
		{"a discard has a note, and can be undone", discardUndone},
	}
}

func letterKept(t *testing.T, f *Fixture) {
	f.ok(f.Bury(f.ctx, "queue", "not JSON", []byte("{"), map[string]string{"topic": "StockTopic"}))
	got, err := f.Letters(f.ctx, 10)
	f.ok(err)
	if len(got) != 1 || got[0].Source != "queue" || got[0].Reason != "not JSON" || string(got[0].Payload) != "{" || got[0].Meta["topic"] != "StockTopic" || !got[0].BuriedAt.Equal(f.Now()) {
		t.Errorf("got %+v", got)
	}
	if n, err := f.CountLetters(f.ctx); err != nil || n != 1 {
		t.Errorf("%d letters, %v", n, err)
	}
}

func letterAnything(t *testing.T, f *Fixture) {
	for _, c := range []struct {
		reason  string
		payload []byte
	}{
		{"empty", nil},
		{"", []byte{}},
		{"binary", []byte{0, 0xff, 0xfe, '\'', '\\'}},
		{strings.Repeat("ü", 400), []byte("x")},
		{"a\xffb", []byte("x")},
		{strings.Repeat("x", 254) + "☃", []byte("x")},
	} {
		if err := f.Bury(f.ctx, "queue", c.reason, c.payload, nil); err != nil {
			t.Errorf("%.20q, %q: %v", c.reason, c.payload, err)
			continue
		}
	}
	got, err := f.Letters(f.ctx, 10)
	f.ok(err)
	if len(got) != 3 { // what has the same bytes, and comes the same way, is one letter
		t.Errorf("%d letters", len(got))
	}
}
