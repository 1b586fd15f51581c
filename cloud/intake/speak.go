package intake

// outgoing is a message on its way down.
type outgoing struct {
	topic   string
	payload []byte
}

// outQueue is how many answers may wait for the client.
const outQueue = 8192

// publish queues a message for QoS 1. Offline it reports false, rather than
// gather messages that nobody waits for any more.
func (l *link) publish(topic string, payload []byte) bool {
	if !l.client.IsConnectionOpen() {
		return false
	}
	select {
	case l.out <- outgoing{topic, payload}:
		return true
	default:
		return false
	}
}

// speak hands messages to the client, on a goroutine of its own: in the moment
// a connection breaks, Publish blocks until the next one is up or the write
// timeout is over, and that is nothing for those who do the work. No token is
// waited for: one may complete without an ack, or never.
func (l *link) speak() {
	defer close(l.said)
	for {
		select {
		case m := <-l.out:
			l.say(m)
		case <-l.hush:
			for len(l.out) > 0 {
				l.say(<-l.out)
			}
			return
		}
	}
}

func (l *link) say(m outgoing) {
	if l.client.IsConnectionOpen() {
		l.client.Publish(m.topic, 1, false, m.payload)
	}
}
