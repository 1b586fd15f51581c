// Package lua holds the scripts that Redis runs for a cabinet's stock, what
// they answer, and the names of the keys they are given. Each script's head
// states its keys, arguments, replies and cost.
//
// # What Redis keeps of a cabinet C
//
// stock:{C} is a hash: SKU → sellable units, with three fields of our own:
// #gen, the generation it was loaded under (without it every script answers
// Fenced and changes nothing); #mut, raised by every script run that changes
// anything; #ticket, the last ticket drawn, restarted by a load. While a load
// is under way it has #load, that load's token, and no #gen; while it is frozen,
// its generation stands in #frozen, and #freezer is who froze it.
//
// mark:{C}:<id> is what is known of an order, fact or repair, as text:
//
//	generation|state|version|ticket|window|basket|user
//
// state is held, released or done; ticket is 0 when none was drawn; window is
// the start of the purchase limit's 24 hours it was counted in, or empty;
// basket is "sku,units,sku,units". A marker of another generation than the
// stock's counts as absent, so a rebuild drops every marker it did not load.
//
// resv:{C} is a hash: id → "version:ms", the holds that the ledger's deduct
// log is not known to have.
//
// limit:{C}:<user> is a hash: SKU → units held or bought in 24 hours, with
// #gen and #since. Under another generation it counts as empty.
//
// All of them share the hash tag {C}, so a basket is one slot of a cluster.
package lua

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
)

// Reply codes: the first element of every reply. The second is the generation
// the stock is loaded under.
const (
	OK        = 200 // done
	Malformed = 400 // not a basket, version or quantity: names what
	Unknown   = 404 // names the SKU that is not sold here
	Seen      = 409 // this id was here before, with its first reply
	Short     = 410 // names every SKU with too few units
	Moved     = 412 // the stock is no longer what the caller compared with
	Conflict  = 422 // the id is known with other content
	Limit     = 429 // names the SKU over the shopper's limit
	Fenced    = 503 // not loaded: nothing may be said or changed
)

// Bounds of one script call, so that none holds Redis up for long.
const (
	MaxSettle = 1000 // ids of one settle
	MaxMarks  = 250  // markers read or written at once, limits written at once
	MaxStock  = 500  // SKUs staged at once
)

// Fields of stock:{C} and limit:{C}:<user> that are no SKUs.
const (
	FieldGeneration = "#gen"
	FieldMutations  = "#mut"
	FieldTicket     = "#ticket"
	FieldLoad       = "#load"
	FieldSince      = "#since"
	FieldFrozen     = "#frozen"
	FieldFreezer    = "#freezer"
)

// Script is one script as Redis knows it.
type Script struct {
	Name   string
	Source string
	SHA    string // what EVALSHA takes
}

// New names a script's source.
func New(name, source string) Script {
	sum := sha1.Sum([]byte(source))
	return Script{Name: name, Source: source, SHA: hex.EncodeToString(sum[:])}
}

// Scripts are all of them.
type Scripts struct {
	Deduct, Rollback, Adjust, Settle, Repair                Script
	Snapshot, Marks, Freeze, Thaw                           Script
	LoadBegin, LoadStock, LoadMarks, LoadLimits, LoadCommit Script
}

//go:embed *.lua
var files embed.FS

// Embedded returns the scripts of this build.
func Embedded() Scripts {
	return Scripts{
		Deduct:     embedded("batch_deduct_stock"),
		Rollback:   embedded("rollback_stock"),
		Adjust:     embedded("adjust"),
		Settle:     embedded("settle"),
		Repair:     embedded("repair"),
		Snapshot:   embedded("snapshot"),
		Marks:      embedded("marks"),
		Freeze:     embedded("freeze"),
		Thaw:       embedded("thaw"),
		LoadBegin:  embedded("load_begin"),
		LoadStock:  embedded("load_stock"),
		LoadMarks:  embedded("load_marks"),
		LoadLimits: embedded("load_limits"),
		LoadCommit: embedded("load_commit"),
	}
}

func embedded(name string) Script {
	source, err := files.ReadFile(name + ".lua")
	if err != nil {
		panic(fmt.Sprintf("lua: %v", err)) // unreachable: the names above are embedded, which a test checks
	}
	return New(name, string(source))
}
