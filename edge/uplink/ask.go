package uplink

import "vendline/shared/wire"

// Ask publishes a question, at QoS 0: one that is lost is asked again, and one
// that is late is worth nothing. It reports whether there was a connection.
func (u *Uplink) Ask(a wire.Ask) bool {
	u.mu.Lock()
	s := u.session
	u.mu.Unlock()
	if s == nil {
		return false
	}
	u.debt.asked(u.cfg.Mono())
	return s.publish(message{topic: wire.Topic(u.cfg.Cabinet, wire.ChannelAsk), payload: wire.Encode(a)})
}
