package broker

import (
	"github.com/mochi-mqtt/server/v2/packets"

	mochi "github.com/mochi-mqtt/server/v2"
)

// OnSelectSubscribers implements mochi.Hook: of those who share a subscription,
// somebody who is connected gets the message, if anybody is. mochi itself draws
// from all of them, and what a dead one draws waits until it is back.
func (a *access) OnSelectSubscribers(s *mochi.Subscribers, _ packets.Packet) *mochi.Subscribers {
	for filter, members := range s.Shared {
		present := make(map[string]packets.Subscription, len(members))
		for id, sub := range members {
			if c, ok := a.server.Clients.Get(id); ok && !c.Closed() {
				present[id] = sub
			}
		}
		if len(present) > 0 {
			s.Shared[filter] = present
		}
	}
	return s
}
