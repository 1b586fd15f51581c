package stack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Description is stack.json: how to reach the servers of a running stack, from
// any process and any language.
type Description struct {
	Dir string `json:"dir"`

	RedisAddr string `json:"redis_addr,omitempty"` // host:port
	StockURL  string `json:"stock_url,omitempty"`  // of a cluster or sentinels, as --stock takes it
	MySQLDSN  string `json:"mysql_dsn,omitempty"`  // for go-sql-driver; may create databases vendline_…

	MQTTURL          string            `json:"mqtt_url,omitempty"` // tcp://host:port
	MQTTUser         string            `json:"mqtt_user,omitempty"`
	MQTTPassword     string            `json:"mqtt_password,omitempty"`
	MQTTPasswordFile string            `json:"mqtt_password_file,omitempty"`
	Cabinets         map[string]string `json:"cabinets,omitempty"` // cabinet id, which is its MQTT user, to password

	RocketMQ       string `json:"rocketmq_namesrv,omitempty"` // http://host:port, as the Go client wants it
	RocketMQBroker string `json:"rocketmq_broker,omitempty"`  // host:port

	Processes []Record `json:"processes"` // in the order of their start
}

// Record is one running process of the stack, described well enough to be
// stopped by somebody else.
type Record struct {
	Name         string   `json:"name"`
	Addr         string   `json:"addr,omitempty"`
	PID          int      `json:"pid"`
	Started      string   `json:"started"` // kernel tick of its start: a recycled pid has another
	Args         []string `json:"args"`
	Log          string   `json:"log"`
	Extra        bool     `json:"extra,omitempty"` // added to the servers, and stopped before them
	GraceSeconds float64  `json:"grace_seconds"`
}

// descriptionPath is where a stack's folder keeps its description.
func descriptionPath(dir string) string { return filepath.Join(dir, "stack.json") }

// Load reads a description: path names stack.json or the folder that holds it.
func Load(path string) (*Description, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = descriptionPath(path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("stack: read the description of the stack (is it running? `vend stack up`): %w", err)
	}
	d := new(Description)
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("stack: %s is damaged: %w", path, err)
	}
	return d, nil
}

// edit changes the description of the stack in dir. Several processes may
// edit at once: each sees the others' changes, and a reader never sees half of one.
func edit(dir string, change func(*Description) error) error {
	unlock, err := lock(filepath.Join(dir, "stack.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	d, err := Load(descriptionPath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		d, err = &Description{Dir: dir}, nil
	}
	if err != nil {
		return err
	}
	if err := change(d); err != nil {
		return err
	}
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false) // a DSN is full of &
	out.SetIndent("", "  ")
	if err := out.Encode(d); err != nil {
		return err
	}
	return replaceFile(descriptionPath(dir), text.Bytes())
}

// replaceFile writes a file whole or not at all, for its owner's eyes only.
func replaceFile(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once renamed
	if _, err := f.Write(text); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// put replaces the record of the same name, or appends it.
func (d *Description) put(r Record) {
	for i := range d.Processes {
		if d.Processes[i].Name == r.Name {
			d.Processes[i] = r
			return
		}
	}
	d.Processes = append(d.Processes, r)
}

// process finds a record by name.
func (d *Description) process(name string) (Record, bool) {
	for _, r := range d.Processes {
		if r.Name == name {
			return r, true
		}
	}
	return Record{}, false
}
