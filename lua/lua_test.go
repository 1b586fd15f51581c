package lua

import (
	"reflect"
	"strings"
	"testing"
)

func TestKeysOfACabinetAreNamedAsDocumented(t *testing.T) {
	want := Keys{Stock: "stock:{C-1}", Resv: "resv:{C-1}", Mark: "mark:{C-1}:o1", Limit: "limit:{C-1}:ann"}
	if got := KeysOf("C-1", "o1", "ann"); got != want {
		t.Errorf("got %+v", got)
	}
	want = Keys{Stock: "stock:{C}", Resv: "resv:{C}"}
	if got := KeysOf("C", "", ""); got != want {
		t.Errorf("got %+v", got)
	}
}

func TestEveryScriptIsEmbeddedAndStatesKeysArgumentsRepliesAndCost(t *testing.T) {
	scripts := reflect.ValueOf(Embedded())
	names := map[string]bool{}
	for i := range scripts.NumField() {
		s := scripts.Field(i).Interface().(Script)
		names[s.Name+".lua"] = true
		if len(s.SHA) != 40 {
			t.Errorf("%s: SHA %q", s.Name, s.SHA)
		}
		for _, word := range []string{"-- KEYS", "-- ARGV", "-- Repl", "Cost: "} {
			if !strings.Contains(s.Source, word) {
				t.Errorf("%s: the head does not state %q", s.Name, word)
			}
		}
	}
	entries, err := files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !names[e.Name()] {
			t.Errorf("%s is no field of Scripts", e.Name())
		}
	}
}

func TestScriptsAnswerOnlyCodesOfTheTable(t *testing.T) {
	known := map[string]bool{"200": true, "400": true, "404": true, "409": true, "410": true, "412": true, "422": true, "429": true, "503": true}
	scripts := reflect.ValueOf(Embedded())
	for i := range scripts.NumField() {
		s := scripts.Field(i).Interface().(Script)
		for _, part := range strings.Split(s.Source, "{")[1:] {
			code, _, _ := strings.Cut(part, ",")
			if len(code) == 3 && code[0] >= '1' && code[0] <= '9' && !known[code] {
				t.Errorf("%s answers %s", s.Name, code)
			}
		}
	}
}
