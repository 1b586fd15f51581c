package intake_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"vendline/cloud/intake"
	"vendline/shared/wire"
)

// poison is one way for a message to be unreadable.
type poison struct {
	channel wire.Channel
	spoil   func(e wire.Event, good []byte) []byte
	code    wire.Code // of the verdict; empty if the row cannot be named
	kept    bool      // as a dead letter
}

func replace(old, new string) func(wire.Event, []byte) []byte {
	return func(_ wire.Event, b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(new), 1) }
}

func always(b string) func(wire.Event, []byte) []byte {
	return func(wire.Event, []byte) []byte { return []byte(b) }
}

var poisons = map[string]poison{
	"empty":            {wire.ChannelOrder, always(""), "", true},
	"not JSON":         {wire.ChannelOrder, always("\x00\xff\x00 hello"), "", true},
	"null":             {wire.ChannelOrder, always("null"), "", true},
	"cut short":        {wire.ChannelOrder, func(_ wire.Event, b []byte) []byte { return b[:len(b)/2] }, "", true},
	"something after":  {wire.ChannelOrder, func(_ wire.Event, b []byte) []byte { return append(b, "}{"...) }, wire.CodeInvalidRequest, true},
	"unknown field":    {wire.ChannelOrder, replace(`{"v":1`, `{"x":1,"v":1`), wire.CodeInvalidRequest, true},
	"field twice":      {wire.ChannelOrder, replace(`{"v":1`, `{"v":1,"v":1`), wire.CodeInvalidRequest, true},
	"invalid UTF-8":    {wire.ChannelOrder, replace(`cola`, "co\xffla"), wire.CodeInvalidRequest, true},
	"unknown version":  {wire.ChannelOrder, replace(`"v":1`, `"v":2`), wire.CodeUnsupported, true},
	"newer and larger": {wire.ChannelOrder, replace(`{"v":1`, `{"new":{"a":[1]},"v":7`), wire.CodeUnsupported, true},
	"wrong cabinet":    {wire.ChannelOrder, replace(`"cabinet":"C0"`, `"cabinet":"C1"`), wire.CodeInvalidRequest, true},
	"wildcard cabinet": {wire.ChannelOrder, replace(`"cabinet":"C0"`, `"cabinet":"+"`), wire.CodeInvalidRequest, true},
	"bad id":           {wire.ChannelOrder, replace(`"id":"0`, `"id":"X`), "", true},
	"bad seq":          {wire.ChannelOrder, func(e wire.Event, _ []byte) []byte { e.Seq = -1; return wire.Encode(e) }, "", true},
	"oversize": {wire.ChannelOrder, func(e wire.Event, _ []byte) []byte {
		e.Order.User = strings.Repeat("u", wire.MaxMessage)
		return wire.Encode(e)
	}, wire.CodeTooLarge, true},
	"fact as an order": {wire.ChannelOrder, func(e wire.Event, _ []byte) []byte {
		e.Fact, e.Order = &wire.Fact{Kind: wire.FactSale, Lines: e.Order.Lines}, nil
		return wire.Encode(e)
	}, wire.CodeInvalidRequest, false},
	"quantity -5":            {wire.ChannelOrder, replace(`"qty":1`, `"qty":-5`), wire.CodeInvalidRequest, false},
	"quantity 0":             {wire.ChannelOrder, replace(`"qty":1`, `"qty":0`), wire.CodeInvalidRequest, false},
	"quantity 1000":          {wire.ChannelOrder, replace(`"qty":1`, `"qty":1000`), wire.CodeInvalidRequest, false},
	"quantity null":          {wire.ChannelOrder, replace(`"qty":1`, `"qty":null`), wire.CodeInvalidRequest, false},
	"quantity in quotes":     {wire.ChannelOrder, replace(`"qty":1`, `"qty":"2"`), wire.CodeInvalidRequest, false},
	"quantity over int64":    {wire.ChannelOrder, replace(`"qty":1`, `"qty":9223372036854775808`), wire.CodeInvalidRequest, false},
	"quantity over a double": {wire.ChannelOrder, replace(`"qty":1`, `"qty":9007199254740993`), wire.CodeInvalidRequest, false},
	"quantity twice":         {wire.ChannelOrder, replace(`"qty":1`, `"qty":1,"qty":9`), wire.CodeInvalidRequest, false},
	"QTY":                    {wire.ChannelOrder, replace(`"qty":1`, `"QTY":9`), wire.CodeInvalidRequest, false},
	"empty basket":           {wire.ChannelOrder, func(e wire.Event, _ []byte) []byte { e.Order.Lines = []wire.Line{}; return wire.Encode(e) }, wire.CodeInvalidRequest, false},
	"bad user":               {wire.ChannelOrder, replace(`"user":"u1"`, `"user":"a b"`), wire.CodeInvalidRequest, false},
	"fact of quantity -5":    {wire.ChannelFact, replace(`"qty":1`, `"qty":-5`), wire.CodeInvalidRequest, true},
	"fact of unknown kind":   {wire.ChannelFact, replace(`"sale"`, `"theft"`), wire.CodeInvalidRequest, true},
}

// A bad message is kept if anybody could miss it, its cabinet is told which row
// to park, and what comes behind it is not held up.
func TestPoisonIsParkedAndOthersFlow(t *testing.T) {
	eachBroker(t, func(t *testing.T, s site) {
		shop := newShop()
		s.intake(t, "intake-1", shop, nil)
		c := s.cabinet(t, 0, nil)
		for name, p := range poisons {
			e := c.order("cola", 1)
			if p.channel == wire.ChannelFact {
				e.Fact, e.Order = &wire.Fact{Kind: wire.FactSale, Lines: e.Order.Lines}, nil
			}
			payload := p.spoil(e, wire.Encode(e))
			before := len(shop.buried())
			c.raw(p.channel, payload)
			for range 5 { // behind it
				c.keep(c.order("cola", 1))
			}
			c.settled()
			if p.code != "" {
				v := c.verdict(e.Seq)
				if v.Code != p.code || v.ID != e.ID || v.Epoch != c.epoch || v.Cabinet != c.id || v.Retryable || v.Detail == "" {
					t.Errorf("%s: verdict %+v, want %s", name, v, p.code)
				}
			} else if p.kept {
				await(t, name+": a dead letter", func() bool { return len(shop.buried()) > before })
			}
			graves := shop.buried()[before:]
			if kept := len(graves) > 0; kept != p.kept {
				t.Errorf("%s: buried %v, want %v", name, kept, p.kept)
			}
			for _, g := range graves {
				if g.source != "mqtt" || g.reason == "" || !bytes.Equal(g.payload, payload) || g.meta["cabinet"] != c.id || g.meta["topic"] == "" {
					t.Errorf("%s: grave %+v", name, g)
				}
			}
			if _, placed := shop.ordered(e.ID); placed > 0 {
				t.Errorf("%s was placed", name)
			}
		}
	})
}

// Sent again, a letter that is buried already does not fill the graveyard.
func TestPoisonIsBuriedOnce(t *testing.T) {
	s := embedded(t)
	shop := newShop()
	in := s.intake(t, "intake-1", shop, func(o *intake.Options) { o.Workers = 1 })
	c := s.cabinet(t, 0, nil)
	for range 20 {
		c.raw(wire.ChannelOrder, []byte("{"))
	}
	c.keep(c.order("cola", 1))
	c.settled()
	await(t, "a dead letter", func() bool { return len(shop.buried()) > 0 })
	in.Close() // sees everything under way to its end
	if n := len(shop.buried()); n != 1 {
		t.Errorf("%d letters", n)
	}
}

// Identities that are wildcards or no identities are kept out, whoever lets
// them through to us.
func TestImpossibleIdentitiesAreBuried(t *testing.T) {
	s := embedded(t)
	shop := newShop()
	s.intake(t, "intake-1", shop, nil)
	cloud := s.cabinet(t, 0, nil)
	admin := s.admin(t)
	for i, name := range []string{"a b", "", "ä", strings.Repeat("x", 33), "C0."} {
		e := cloud.order("cola", 1)
		e.Cabinet = name
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		admin.Publish("vend/v1/"+name+"/order", 1, false, b)
		await(t, "a dead letter", func() bool { return len(shop.buried()) == i+1 })
	}
	cloud.keep(cloud.order("cola", 1))
	cloud.settled()
	if len(shop.orders) != 1 {
		t.Errorf("%d orders", len(shop.orders))
	}
}
