package deduct

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

func TestTheClientNeverRepeatsAScriptByItself(t *testing.T) {
	o, err := settings("redis://ann:secret@h:1/3", Servers{})
	if err != nil {
		t.Fatal(err)
	}
	if o.MaxRetries != -1 || !o.ContextTimeoutEnabled || o.ReadTimeout <= 0 || o.WriteTimeout <= 0 || o.DialTimeout <= 0 {
		t.Errorf("settings %+v", o)
	}
	if o.MaintNotificationsConfig.Mode != maintnotifications.ModeDisabled {
		t.Error("maintenance notifications are on")
	}
	if o.Username != "ann" || o.Password != "secret" || o.DB != 3 || o.TLSConfig != nil {
		t.Errorf("the url was read as %q %q %d", o.Username, o.Password, o.DB)
	}
	if !(once{}).NoRetry() {
		t.Error("a cluster client may repeat a script") // its redirect loop does, whatever MaxRetries says
	}
}

func TestServersMakeTheRightKindOfClient(t *testing.T) {
	for _, c := range []struct {
		url  string
		more Servers
		kind func(redis.UniversalClient) bool
	}{
		{"redis://h:1", Servers{}, isA[*redis.Client]},
		{"redis://h:1", Servers{Nodes: []string{"h:2"}}, isA[*redis.ClusterClient]},
		{"redis://h:1", Servers{Cluster: true}, isA[*redis.ClusterClient]},
		{"redis://h:1", Servers{Nodes: []string{"h:2"}, Master: "stock"}, isA[*redis.Client]},
	} {
		rdb, err := Client(c.url, c.more)
		if err != nil {
			t.Fatal(err)
		}
		if !c.kind(rdb) {
			t.Errorf("%s %+v made a %T", c.url, c.more, rdb)
		}
		_ = rdb.Close()
	}
}

func isA[T any](rdb redis.UniversalClient) bool { _, is := rdb.(T); return is }

func TestAnAddressIsReadOrRefused(t *testing.T) {
	for _, url := range []string{"", "h:1", "http://h:1", "redis://h:1/x"} {
		if _, err := Client(url, Servers{}); err == nil {
			t.Errorf("%q was taken for an address", url)
		}
	}
	o, err := settings("rediss://h:1", Servers{})
	if err != nil || o.TLSConfig == nil || o.TLSConfig.MinVersion < tls.VersionTLS12 {
		t.Errorf("rediss: %v, TLS %+v", err, o.TLSConfig)
	}
}

// Without ContextTimeoutEnabled this would wait for the read timeout, an hour.
func TestACallersDeadlineEndsTheWaitForASilentRedis(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	rdb, err := Client("redis://"+silent.Addr().String(), Servers{Timeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer rdb.Close()
	s := New(rdb, Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var late net.Error
	if _, err := s.Generation(ctx, "C-1"); !errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &late) {
		t.Errorf("heard %v", err)
	}
	if err := s.Ping(ctx); err == nil {
		t.Error("a silent Redis was taken for a live one")
	}
	s.Close()
}

func TestARedisThatIsAwayIsToldAtOpen(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := gone.Addr().String()
	gone.Close()
	if _, err := Open(t.Context(), "redis://"+addr, Servers{}); err == nil {
		t.Error("opened a Redis that is not there")
	}
}
