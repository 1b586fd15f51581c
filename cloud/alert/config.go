package alert

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"vendline/shared/wire"
)

// Config is what a --alerts file says. Without one, every rule has its defaults
// and everything is told to the log.
type Config struct {
	Rules []RuleConfig `json:"rules"`
	Sinks []SinkConfig `json:"sinks"`
}

// RuleConfig adjusts one rule; what it leaves out keeps its default.
type RuleConfig struct {
	Name      string  `json:"name"`
	Off       bool    `json:"off"`
	Severity  string  `json:"severity"`
	For       *string `json:"for"`
	Quiet     *string `json:"quiet"`
	Repeat    *string `json:"repeat"`
	Window    *string `json:"window"`
	After     *string `json:"after"`
	Threshold *int64  `json:"threshold"`
	Flips     *int64  `json:"flips"`
	Growth    *int64  `json:"growth"`
	Runbook   string  `json:"runbook"`
}

// Kinds of sinks.
const (
	SinkLog          = "log"
	SinkWebhook      = "webhook"
	SinkDingTalk     = "dingtalk"
	SinkAlertmanager = "alertmanager"
)

// SinkConfig is one sink.
type SinkConfig struct {
	Name       string `json:"name"` // how rows and pages call it; its kind, if empty
	Kind       string `json:"kind"`
	URL        string `json:"url"`
	URLFile    string `json:"url_file"`    // instead of url: one that holds a token
	SecretFile string `json:"secret_file"` // what signs
	Least      string `json:"least"`       // the mildest severity it hears of; empty: all
	Private    bool   `json:"private"`     // it may be on a private network, or loopback, and speak http
}

// maxConfig is the most bytes of a file.
const maxConfig = 64 << 10

// ReadConfig decodes a file, and says what is wrong with it by field.
func ReadConfig(data []byte) (Config, error) {
	var c Config
	if err := wire.Decode(data, maxConfig, &c); err != nil {
		return Config{}, err
	}
	return c, c.Check()
}

// Check says what is wrong, naming the field.
func (c Config) Check() error {
	names := Names()
	for i, r := range c.Rules {
		at := fmt.Sprintf("rules[%d].", i)
		switch {
		case !slices.Contains(names, r.Name):
			return &wire.FieldError{Path: at + "name", Problem: fmt.Sprintf("%q is no rule; there are %s", r.Name, strings.Join(names, ", "))}
		case slices.ContainsFunc(c.Rules[:i], func(o RuleConfig) bool { return o.Name == r.Name }):
			return &wire.FieldError{Path: at + "name", Problem: r.Name + " is adjusted twice"}
		case r.Severity != "" && !slices.Contains(Severities[:], Severity(r.Severity)):
			return &wire.FieldError{Path: at + "severity", Problem: "must be info, warning or critical"}
		}
		for _, d := range r.durations() {
			if d.text == nil {
				continue
			}
			if v, err := time.ParseDuration(*d.text); err != nil || v < 0 || v > LongestSnooze {
				return &wire.FieldError{Path: at + d.name, Problem: "must be a time like 30s, 10m or 4h, at most 720h"}
			}
		}
		for _, n := range []struct {
			name  string
			value *int64
		}{{"threshold", r.Threshold}, {"flips", r.Flips}, {"growth", r.Growth}} {
			if n.value != nil && *n.value < 0 {
				return &wire.FieldError{Path: at + n.name, Problem: "must not be negative"}
			}
		}
	}
	for i, s := range c.Sinks {
		if err := s.check(fmt.Sprintf("sinks[%d].", i), c.Sinks[:i]); err != nil {
			return err
		}
	}
	return nil
}

// Called is a sink's name.
func (s SinkConfig) Called() string {
	if s.Name == "" {
		return s.Kind
	}
	return s.Name
}

func (s SinkConfig) check(at string, before []SinkConfig) error {
	bad := func(field, problem string) error { return &wire.FieldError{Path: at + field, Problem: problem} }
	switch kinds := []string{SinkLog, SinkWebhook, SinkDingTalk, SinkAlertmanager}; {
	case !slices.Contains(kinds, s.Kind):
		return bad("kind", "must be log, webhook, dingtalk or alertmanager")
	case len(s.Called()) > 32 || s.Called() != plain(s.Called()):
		return bad("name", "must be 1 to 32 letters, digits, '_', '-' or '.'")
	case slices.ContainsFunc(before, func(o SinkConfig) bool { return o.Called() == s.Called() }):
		return bad("name", "another sink is called "+s.Called()+" already")
	case s.Least != "" && !slices.Contains(Severities[:], Severity(s.Least)):
		return bad("least", "must be info, warning or critical")
	case s.Kind == SinkLog && (s.URL != "" || s.URLFile != ""):
		return bad("url", "the log has none")
	case s.Kind != SinkLog && (s.URL == "") == (s.URLFile == ""):
		return bad("url", "must say where it is, or url_file must")
	case s.Kind == SinkWebhook && s.SecretFile == "":
		return bad("secret_file", "must name the file with the secret that signs")
	case s.Kind == SinkLog && s.SecretFile != "", s.Kind == SinkAlertmanager && s.SecretFile != "":
		return bad("secret_file", "the "+s.Kind+" has none")
	}
	return nil
}

type namedText struct {
	name string
	text *string
}

func (r RuleConfig) durations() []namedText {
	return []namedText{{"for", r.For}, {"quiet", r.Quiet}, {"repeat", r.Repeat}, {"window", r.Window}, {"after", r.After}}
}

// Off are the rules that are turned off.
func (c Config) Off(name string) bool {
	return slices.ContainsFunc(c.Rules, func(r RuleConfig) bool { return r.Name == name && r.Off })
}

// Adjust changes a rule as the config says.
func (c Config) Adjust(r *Rule) {
	i := slices.IndexFunc(c.Rules, func(o RuleConfig) bool { return o.Name == r.Name })
	if i < 0 {
		return
	}
	o := c.Rules[i]
	for _, d := range []struct {
		text *string
		to   *time.Duration
	}{{o.For, &r.For}, {o.Quiet, &r.Quiet}, {o.Repeat, &r.Repeat}, {o.Window, &r.Window}, {o.After, &r.After}} {
		if d.text != nil {
			if v, err := time.ParseDuration(*d.text); err == nil { // Check has seen it
				*d.to = v
			}
		}
	}
	if o.Severity != "" {
		r.Severity = Severity(o.Severity)
	}
	if o.Runbook != "" {
		r.Runbook = o.Runbook
	}
	if o.Threshold != nil {
		r.Threshold = *o.Threshold
	}
	if o.Flips != nil {
		r.Flips = int(*o.Flips)
	}
	if o.Growth != nil {
		r.Growth = *o.Growth
	}
}
