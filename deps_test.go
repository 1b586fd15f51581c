package vendline_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// packages asks the go tool for every package of the module with its imports:
// direct ones, or with deps all that it stands on.
func packages(t *testing.T, field string) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .`+field+` " "}}`, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		all[f[0]] = f[1:]
	}
	if len(all) < 20 {
		t.Fatalf("go list found only %d packages", len(all))
	}
	return all
}

func under(pkg, folder string) bool {
	return pkg == "vendline/"+folder || strings.HasPrefix(pkg, "vendline/"+folder+"/")
}

// Both sides, and firmware authors, depend on the wire and on nothing with it.
func TestWireStandsOnTheStandardLibraryAlone(t *testing.T) {
	for _, dep := range packages(t, "Deps")["vendline/shared/wire"] {
		if strings.Contains(strings.Split(dep, "/")[0], ".") || under(dep, "") || strings.HasPrefix(dep, "vendline/") {
			t.Errorf("shared/wire depends on %s", dep)
		}
	}
}

// The domain reads without knowing Redis, MySQL, RocketMQ or gin.
func TestOrderKnowsNoAdapter(t *testing.T) {
	for _, dep := range packages(t, "Imports")["vendline/cloud/order"] {
		if strings.Contains(strings.Split(dep, "/")[0], ".") || strings.HasPrefix(dep, "vendline/") && dep != "vendline/shared/wire" {
			t.Errorf("cloud/order imports %s", dep)
		}
	}
}

// Money meets orders without knowing who keeps either, or which provider it is.
func TestPaymentKnowsNoAdapter(t *testing.T) {
	allowed := []string{"vendline/cloud/order", "vendline/cloud/outbox", "vendline/shared/money", "vendline/shared/wire"}
	for _, dep := range packages(t, "Imports")["vendline/cloud/payment"] {
		if strings.Contains(strings.Split(dep, "/")[0], ".") || strings.HasPrefix(dep, "vendline/") && !slices.Contains(allowed, dep) {
			t.Errorf("cloud/payment imports %s", dep)
		}
	}
}

// A cabinet's agent is small because nothing of the cloud is in it.
func TestEdgeAndCloudNeverMeet(t *testing.T) {
	for pkg, deps := range packages(t, "Deps") {
		for _, dep := range deps {
			if under(pkg, "edge") && (under(dep, "cloud") || under(dep, "lua") || under(dep, "deploy")) {
				t.Errorf("%s depends on %s", pkg, dep)
			}
			if under(pkg, "cloud") && (under(dep, "edge") || under(dep, "deploy")) {
				t.Errorf("%s depends on %s", pkg, dep)
			}
		}
	}
}

// Adapters implement ports that others declare; they meet in cloud/app.
func TestAdaptersDoNotImportOneAnother(t *testing.T) {
	adapters := []string{"cloud/ledger", "cloud/deduct", "cloud/queue/rocket", "cloud/queue/bolt", "cloud/broker", "cloud/intake", "cloud/api", "cloud/fleet",
		"cloud/payment/sandbox", "cloud/payment/wechat", "cloud/payment/alipay", "cloud/callback"}
	for pkg, imports := range packages(t, "Imports") {
		from := slices.IndexFunc(adapters, func(a string) bool { return pkg == "vendline/"+a })
		if from < 0 {
			continue
		}
		for _, dep := range imports {
			if to := slices.IndexFunc(adapters, func(a string) bool { return dep == "vendline/"+a }); to >= 0 && to != from {
				t.Errorf("%s imports %s; let it declare the port it needs", pkg, dep)
			}
		}
	}
}

// What a step needs of the ledger, it declares; only the app knows the ledger.
func TestOnlyTheAppKnowsTheLedger(t *testing.T) {
	for pkg, imports := range packages(t, "Imports") {
		if under(pkg, "cloud") && pkg != "vendline/cloud/app" && !under(pkg, "cloud/ledger") && slices.Contains(imports, "vendline/cloud/ledger") {
			t.Errorf("%s imports cloud/ledger", pkg)
		}
	}
}

// Names that say nothing attract everything.
func TestNoFolderIsNamedForNothing(t *testing.T) {
	for pkg := range packages(t, "Imports") {
		for _, bad := range []string{"util", "utils", "common", "helper", "helpers", "misc", "base", "manager"} {
			if strings.HasSuffix(pkg, "/"+bad) {
				t.Errorf("%s: name it for what it does", pkg)
			}
		}
	}
}
