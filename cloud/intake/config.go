package intake

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"
)

// Options of an intake. Broker, Client, Placer, Facts and DeadLetters are required.
type Options struct {
	Broker   string // tcp://host:1883, or ssl://host:8883
	User     string
	Password string
	Client   string // MQTT client id: unique per instance, and the same after its restart

	// CleanSession lets the broker forget this instance as soon as its connection
	// ends. Unset, what comes while it is away waits for it, which is right for
	// the only instance: after a restart it answers at once. Of several instances
	// that share the work, mosquitto goes on to give one that died its share, and
	// each such event waits until its cabinet has sent it often enough to hit a
	// living one: set it for them.
	CleanSession bool

	Placer      Placer
	Facts       Facts
	DeadLetters DeadLetters
	Stock       Stock    // nil: births are not answered with the cabinet's stock
	Commands    Commands // nil: cabinets that ask what to dispense are not heard
	Watcher     Watcher  // nil: nobody listens for beats and states

	Planograms Planograms // nil, or without a Stock: births are not answered with the cabinet's planogram

	Group   string // of the shared subscription; empty means "intake"
	Workers int    // events worked on at once; 0 means 256
	Queue   int    // events that may wait for a worker; 0 means 8192

	Timing Timing
	Now    func() time.Time // cloud clock; nil means time.Now
	Jitter func() float64   // in [0, 1); nil means random
	Log    *slog.Logger     // nil means slog.Default()
}

// Timing holds every interval. Zero fields take the defaults in brackets.
type Timing struct {
	Try          time.Duration // [10 s] longest single call of a port
	Retry        time.Duration // [100 ms] pause before the second try, tripled each time
	Retries      int           // [3] tries after the first
	Flush        time.Duration // [10 ms] an ack waits for company
	Stock        time.Duration // [5 s] shortest time between two stock commands to one cabinet whose stock changes
	ReconnectMax time.Duration // [60 s] longest pause between connects
	Drain        time.Duration // [10 s] Close waits for events under way
}

// flushAt is how many acks of a cabinet are sent without waiting for more.
const flushAt = 200

func (o *Options) fill() error {
	if o.Broker == "" || o.Client == "" || o.Placer == nil || o.Facts == nil || o.DeadLetters == nil {
		return errors.New("intake: broker, client id, placer, facts and dead letters are required")
	}
	o.fillDefaults()
	return nil
}

func (o *Options) fillDefaults() {
	if o.Group == "" {
		o.Group = "intake"
	}
	if o.Workers <= 0 {
		o.Workers = 256
	}
	if o.Queue <= 0 {
		o.Queue = 8192
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	t := &o.Timing
	for _, d := range []struct {
		at  *time.Duration
		def time.Duration
	}{
		{&t.Try, 10 * time.Second}, {&t.Retry, 100 * time.Millisecond}, {&t.Flush, 10 * time.Millisecond}, {&t.Stock, 5 * time.Second},
		{&t.ReconnectMax, time.Minute}, {&t.Drain, 10 * time.Second},
	} {
		if *d.at <= 0 {
			*d.at = d.def
		}
	}
	if t.Retries <= 0 {
		t.Retries = 3
	}
}
