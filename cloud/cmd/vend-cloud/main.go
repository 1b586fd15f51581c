// Command vend-cloud is the cloud service: intake, orders, stock, and the page.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"vendline/cloud/app"
	"vendline/cloud/payment"
	"vendline/shared/clock"
)

type flags struct {
	Roles                []app.Role    `help:"What this process does: api, intake, relay, consumer, timers, reconcile." default:"api,intake,relay,consumer,timers,reconcile" env:"VENDLINE_ROLES"`
	Mode                 string        `help:"How orders are placed: async, or sync (one MySQL transaction each)." enum:"async,sync" default:"async" env:"VENDLINE_MODE"`
	HTTP                 string        `help:"Where to listen. There is no access control yet: keep it on loopback." default:"127.0.0.1:8080" env:"VENDLINE_HTTP"`
	Ledger               string        `help:"mysql:<dsn> or sqlite:<path>." required:"" env:"VENDLINE_LEDGER" placeholder:"mysql:user:pass@tcp(host:3306)/db"`
	Stock                string        `help:"redis://host:port, redis-cluster://host:port,…, redis-sentinel://host:port,…/master, or embedded." default:"redis://127.0.0.1:6379" env:"VENDLINE_STOCK"`
	Queue                string        `help:"rocketmq://host:port of the name server, or bolt:<path>." default:"rocketmq://127.0.0.1:9876" env:"VENDLINE_QUEUE"`
	MQTT                 string        `help:"tcp://host:port of the broker. Empty runs without intake." env:"VENDLINE_MQTT" placeholder:"tcp://127.0.0.1:1883"`
	MQTTUser             string        `help:"User at the MQTT broker." default:"cloud" env:"VENDLINE_MQTT_USER"`
	MQTTPasswordFile     string        `help:"File with its password." type:"existingfile" env:"VENDLINE_MQTT_PASSWORD_FILE"`
	Instance             string        `help:"Name of this process among its kind; keep it across restarts." default:"cloud-1" env:"VENDLINE_INSTANCE"`
	Namespace            string        `help:"Put before topics and groups at the queue, so that fleets can share a broker." env:"VENDLINE_NAMESPACE"`
	Hold                 time.Duration `help:"How long an unpaid order keeps its stock." default:"15m" env:"VENDLINE_HOLD"`
	Holds                int           `help:"Most unpaid orders of one shopper. At one cabinet the next order always replaces an unpaid one; -1 turns both off." default:"5" env:"VENDLINE_HOLDS"`
	Grace                time.Duration `help:"After which stock held for no order is given back." default:"30s" env:"VENDLINE_GRACE"`
	ReconcileEvery       time.Duration `help:"Time between two rounds that compare Redis with the ledger, over the whole fleet; -1s turns them off." default:"10m" env:"VENDLINE_RECONCILE_EVERY"`
	WarmupAt             string        `help:"Times of day when Redis is loaded before a peak: all cabinets, or a group's." env:"VENDLINE_WARMUP_AT" placeholder:"07:30; 11:45=north"`
	WarmupZone           string        `help:"Time zone of --warmup-at." default:"UTC" env:"VENDLINE_WARMUP_ZONE"`
	PublicURL            string        `help:"Where payment providers and shoppers reach --http; empty is http:// and --http." env:"VENDLINE_PUBLIC_URL" placeholder:"https://vend.example"`
	Payments             string        `help:"JSON file with WeChat Pay and Alipay; see docs/payments.md." type:"existingfile" env:"VENDLINE_PAYMENTS"`
	PaySandboxURL        string        `help:"A sandbox payment server, or embedded:<file of its charges> for one in this process. No money moves." env:"VENDLINE_PAY_SANDBOX_URL"`
	PaySandboxSecretFile string        `help:"File with the secret shared with it." type:"existingfile" env:"VENDLINE_PAY_SANDBOX_SECRET_FILE"`
	PaySandboxMerchant   string        `help:"Merchant at the sandbox." default:"vendline" env:"VENDLINE_PAY_SANDBOX_MERCHANT"`
	Intents              int64         `help:"Most orders that wait to be placed (Prefer: respond-async); more are refused as overloaded." default:"200000" env:"VENDLINE_INTENTS"`
	FallbackRate         float64       `help:"Most orders a second by the ledger alone, while Redis is away; more are refused as overloaded." default:"200" env:"VENDLINE_FALLBACK_RATE"`
	CallbackSecretFile   string        `help:"File with the secret that signs callbacks. Without it, nobody is called back." type:"existingfile" env:"VENDLINE_CALLBACK_SECRET_FILE"`
	Alerts               string        `help:"JSON file with rules and sinks of alerts; see docs/alerts.md. Without it: defaults, told to the log." type:"existingfile" env:"VENDLINE_ALERTS"`
	Log                  string        `help:"text or json." enum:"text,json" default:"text" env:"VENDLINE_LOG"`
	Version              kong.VersionFlag
}

func main() {
	var f flags
	kong.Parse(&f, kong.Name("vend-cloud"), kong.Description("Orders and stock of a chain of vending cabinets."),
		kong.Vars{"version": version()}, kong.UsageOnError())
	// The live heap is small and the garbage of requests is large: fewer, larger
	// collections cost memory this service has.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, f); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, f flags) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if f.Log == "json" {
		log = slog.New(slog.NewJSONHandler(os.Stderr, nil))
	}
	password, err := secretIn(f.MQTTPasswordFile)
	if err != nil {
		return fmt.Errorf("vend-cloud: read --mqtt-password-file: %w", err)
	}
	callbacks, err := secretIn(f.CallbackSecretFile)
	if err != nil {
		return fmt.Errorf("vend-cloud: read --callback-secret-file: %w", err)
	}
	if f.CallbackSecretFile != "" && callbacks == "" {
		return fmt.Errorf("vend-cloud: --callback-secret-file is empty")
	}
	pay, embedded, err := providers(f)
	if err != nil {
		return err
	}
	deps := app.System(log)
	if deps.Clock, err = clock.System(); err != nil {
		return fmt.Errorf("vend-cloud: %w", err)
	}
	a, err := app.New(ctx, app.Config{
		PublicURL: f.PublicURL, Payments: pay, Sandbox: embedded, Intents: f.Intents, FallbackRate: f.FallbackRate, CallbackSecret: callbacks, Alerts: f.Alerts,
		Roles: f.Roles, Mode: f.Mode, HTTP: f.HTTP, Ledger: f.Ledger, Stock: f.Stock, Queue: f.Queue,
		MQTT: f.MQTT, MQTTUser: f.MQTTUser, MQTTPassword: password, Instance: f.Instance, Namespace: f.Namespace, Hold: f.Hold, Holds: f.Holds, Grace: f.Grace, ReconcileEvery: f.ReconcileEvery, WarmupAt: f.WarmupAt, WarmupZone: f.WarmupZone,
	}, deps)
	if err != nil {
		return err
	}
	defer a.Close()
	return a.Serve(ctx)
}

// secretIn reads a secret's file; no file is no secret.
func secretIn(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	b, err := os.ReadFile(file)
	return strings.TrimRight(string(b), "\r\n"), err
}

// providers are the ways of paying that the flags name; embedded is a sandbox
// in this process.
func providers(f flags) (all map[string]payment.Provider, embedded string, err error) {
	all = map[string]payment.Provider{}
	if f.Payments != "" {
		if all, err = app.ReadProviders(f.Payments); err != nil {
			return nil, "", fmt.Errorf("vend-cloud: --payments: %w", err)
		}
	}
	if f.PaySandboxURL == "" || strings.HasPrefix(f.PaySandboxURL, "embedded") {
		return all, f.PaySandboxURL, nil
	}
	p, err := app.SandboxAt(f.PaySandboxURL, f.PaySandboxMerchant, f.PaySandboxSecretFile)
	if err != nil {
		return nil, "", fmt.Errorf("vend-cloud: --pay-sandbox-url: %w", err)
	}
	all[p.Name()] = p
	return all, "", nil
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
