package broker

import (
	"bytes"
	"context"
	"crypto/subtle"
	"log/slog"
	"strings"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"

	"vendline/shared/wire"
)

// access decides who may connect and who may say what. A user is a cabinet and
// named by its id, or it is the cloud.
type access struct {
	mochi.HookBase
	server  *mochi.Server
	cloud   string
	cabinet func(string) (string, bool)
}

// ID implements mochi.Hook.
func (a *access) ID() string { return "vendline-access" }

// Provides implements mochi.Hook.
func (a *access) Provides(b byte) bool {
	return bytes.IndexByte([]byte{mochi.OnConnectAuthenticate, mochi.OnACLCheck, mochi.OnPublish, mochi.OnSelectSubscribers}, b) >= 0
}

// OnConnectAuthenticate implements mochi.Hook. A last will that its sender
// could not publish, and a client id that somebody else uses, are refused.
func (a *access) OnConnectAuthenticate(c *mochi.Client, p packets.Packet) bool {
	user := string(p.Connect.Username)
	if !a.knows(user, p.Connect.Password) {
		return false
	}
	if p.Connect.WillFlag && !MayPublish(user, p.Connect.WillTopic) {
		return false
	}
	other, ok := a.server.Clients.Get(c.ID)
	return !ok || string(other.Properties.Username) == user
}

func (a *access) knows(user string, password []byte) bool {
	if user == CloudUser {
		return subtle.ConstantTimeCompare(password, []byte(a.cloud)) == 1
	}
	if a.cabinet == nil || !wire.ValidCabinet(user) {
		return false
	}
	want, ok := a.cabinet(user)
	return ok && want != "" && subtle.ConstantTimeCompare(password, []byte(want)) == 1
}

// OnACLCheck implements mochi.Hook. Publishing is judged by OnPublish, since
// mochi would cut an MQTT 3 client off for trying.
func (a *access) OnACLCheck(c *mochi.Client, topic string, write bool) bool {
	return write || MaySubscribe(string(c.Properties.Username), topic)
}

// OnPublish implements mochi.Hook: what a client may not say is acknowledged to
// it and heard by nobody, as the real broker does for MQTT 3.
func (a *access) OnPublish(c *mochi.Client, p packets.Packet) (packets.Packet, error) {
	if c.Net.Inline || MayPublish(string(c.Properties.Username), p.TopicName) {
		return p, nil
	}
	return p, packets.CodeSuccessIgnore
}

// MayPublish reports whether user may publish on topic.
func MayPublish(user, topic string) bool {
	if user == CloudUser {
		return underRoot(topic)
	}
	cabinet, channel, ok := wire.ParseTopic(topic)
	if !ok || cabinet != user {
		return false
	}
	switch channel {
	case wire.ChannelOrder, wire.ChannelFact, wire.ChannelBeat, wire.ChannelState, wire.ChannelAsk:
		return true
	}
	return false
}

// MaySubscribe reports whether user may subscribe to filter, and receive what
// is published on a topic of that name.
func MaySubscribe(user, filter string) bool {
	if user == CloudUser {
		if rest, ok := strings.CutPrefix(filter, "$share/"); ok {
			_, filter, _ = strings.Cut(rest, "/")
		}
		return underRoot(filter)
	}
	cabinet, channel, ok := wire.ParseTopic(filter)
	if !ok || cabinet != user {
		return false
	}
	switch channel {
	case wire.ChannelVerdict, wire.ChannelAck, wire.ChannelCommand:
		return true
	}
	return false
}

func underRoot(topic string) bool { return strings.HasPrefix(topic, "vend/v1/") }

// above is a handler that drops records below a level: mochi tells every
// connection that ends, and our own parts tell those that matter.
type above struct {
	slog.Handler
	level slog.Level
}

// Enabled implements slog.Handler.
func (a above) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= a.level && a.Handler.Enabled(ctx, l)
}

// WithAttrs implements slog.Handler.
func (a above) WithAttrs(attrs []slog.Attr) slog.Handler {
	return above{a.Handler.WithAttrs(attrs), a.level}
}

// WithGroup implements slog.Handler.
func (a above) WithGroup(name string) slog.Handler { return above{a.Handler.WithGroup(name), a.level} }
