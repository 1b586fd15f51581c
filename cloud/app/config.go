// Package app puts the cloud service together: adapters meet here and nowhere
// else. Real and embedded parts are chosen by the scheme of their address, so
// that one binary serves both.
package app

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"vendline/cloud/payment"
	"vendline/cloud/relay"
)

// Role is a part of the service that a process may play.
type Role string

// Roles. One process plays all of them unless told otherwise.
const (
	RoleAPI       Role = "api"       // HTTP for phones, operators and the page
	RoleIntake    Role = "intake"    // scan-orders and facts from cabinets, over MQTT
	RoleRelay     Role = "relay"     // outbox rows that their own process did not carry out
	RoleConsumer  Role = "consumer"  // step 8
	RoleTimers    Role = "timers"    // the end of unpaid holds
	RoleReconcile Role = "reconcile" // holds that no placement finished
)

// AllRoles lists them in the order of their start.
func AllRoles() []Role {
	return []Role{RoleConsumer, RoleRelay, RoleTimers, RoleReconcile, RoleIntake, RoleAPI}
}

// Modes of placing orders.
const (
	ModeAsync = "async" // Redis admits, MySQL decides in shared commits, RocketMQ carries stock
	ModeSync  = "sync"  // one guarded MySQL transaction per order
)

// Config is what a service is started with.
type Config struct {
	Roles []Role
	Mode  string // ModeAsync or ModeSync

	HTTP         string // host:port
	Ledger       string // mysql:<dsn>, or sqlite:<path>
	Stock        string // redis://…, redis-cluster://…, redis-sentinel://… (see deduct.Client), or embedded
	Queue        string // rocketmq://host:port of the name server, or bolt:<path>
	MQTT         string // tcp://host:port, or embedded://host:port for a broker in this process
	MQTTUser     string
	MQTTPassword string
	Instance     string // names this process among its kind; stable across restarts

	Hold           time.Duration // how long an unpaid order keeps its stock
	Holds          int           // most unpaid orders of one shopper; at one cabinet the next replaces the last; below 0 neither
	Grace          time.Duration // after which a hold without an order is given back
	Allowance      int           // most units of a SKU that an offline cabinet may sell on its own; below 0 none
	ReconcileEvery time.Duration // between rounds over all cabinets; below 0 there are none
	WarmupAt       string        // times of day, see ParsePeaks; empty is none
	WarmupZone     string        // where these are; empty is UTC
	Shards         int           // queues of the stock topic
	Namespace      string        // put before topics and groups, so that fleets can share a broker

	FallbackRate float64 // orders a second by the ledger alone, while Redis is away; 0 means 200

	PublicURL string                      // where providers and shoppers reach HTTP; empty is HTTP itself
	Payments  map[string]payment.Provider // ways of paying, by name
	Sandbox   string                      // embedded, or embedded:<file of its charges>: a sandbox provider in this process

	Intents          int64  // most orders that wait to be placed; 0 means 200,000
	CallbackSecret   string // signs callbacks; empty sends none
	CallbackLoopback bool   // callbacks may go to loopback, over http too: for development

	Alerts string // JSON file of rules and sinks; empty: the defaults, told to the log

	// CabinetPassword tells the embedded broker a cabinet's password.
	CabinetPassword func(cabinet string) (string, bool)
}

// Deps are the sources of time, identity and chance, and the log.
type Deps struct {
	Clock func() time.Time
	ID    func() string // UUIDv7
	Token func() string // random, 12 or more of [0-9a-f]
	Log   *slog.Logger
}

func (c Config) withDefaults() Config {
	if len(c.Roles) == 0 {
		c.Roles = AllRoles()
	}
	if c.Mode == "" {
		c.Mode = ModeAsync
	}
	if c.HTTP == "" {
		c.HTTP = "127.0.0.1:8080"
	}
	if c.Hold <= 0 {
		c.Hold = 15 * time.Minute
	}
	if c.Holds == 0 {
		c.Holds = 5
	}
	if c.Grace <= 0 {
		c.Grace = 30 * time.Second
	}
	if c.ReconcileEvery == 0 {
		c.ReconcileEvery = 10 * time.Minute
	}
	if c.Allowance == 0 {
		c.Allowance = 5
	}
	if c.Shards <= 0 {
		c.Shards = 4
	}
	if c.Instance == "" {
		c.Instance = "cloud"
	}
	return c
}

// Check says what is wrong with a config, in words for who wrote it.
func (c Config) Check() error {
	for _, r := range c.Roles {
		if !slices.Contains(AllRoles(), r) {
			return fmt.Errorf("role %q does not exist; there are %v", r, AllRoles())
		}
	}
	if c.Mode != ModeAsync && c.Mode != ModeSync {
		return fmt.Errorf("mode %q does not exist; there are async and sync", c.Mode)
	}
	if _, ok := c.embeddedSandbox(); c.Sandbox != "" && !ok {
		return fmt.Errorf("sandbox %q is neither embedded nor embedded:<file>", c.Sandbox)
	}
	if n := len(c.CallbackSecret); n > 0 && n < minSecret {
		return fmt.Errorf("the callback secret has %d bytes; it needs %d at least", n, minSecret)
	}
	if _, err := ParsePeaks(c.WarmupAt); err != nil {
		return err
	}
	if _, err := c.warmupZone(); err != nil {
		return err
	}
	for _, part := range []struct{ name, value string }{{"ledger", c.Ledger}, {"stock", c.Stock}, {"queue", c.Queue}} {
		if part.value == "" && (c.Mode == ModeAsync || part.name == "ledger") {
			return fmt.Errorf("no %s is named; see --help for the forms", part.name)
		}
	}
	return nil
}

// minSecret is the shortest secret that signs anything.
const minSecret = 16

// publicURL is where providers call back and shoppers open pages.
func (c Config) publicURL() string {
	if c.PublicURL != "" {
		return strings.TrimRight(c.PublicURL, "/")
	}
	return "http://" + c.HTTP
}

// embeddedSandbox reports whether a sandbox runs in this process, and where it
// keeps its charges; empty is in memory.
func (c Config) embeddedSandbox() (file string, ok bool) {
	kind, rest := scheme(c.Sandbox)
	return rest, kind == "embedded"
}

func (c Config) topics() relay.Topics {
	t := relay.DefaultTopics()
	if c.Namespace != "" {
		t.Stock, t.Timer = c.Namespace+"_"+t.Stock, c.Namespace+"_"+t.Timer
	}
	return t
}

func (c Config) has(r Role) bool { return slices.Contains(c.Roles, r) }

// scheme splits "mysql:rest" and "redis://rest" into both halves.
func scheme(address string) (name, rest string) {
	name, rest, _ = strings.Cut(address, ":")
	return name, strings.TrimPrefix(rest, "//")
}
