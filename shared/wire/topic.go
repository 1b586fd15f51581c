package wire

import "strings"

// Channel is the last level of a topic: what kind of message it carries.
type Channel string

// Channels up (cabinet to cloud) and down (cloud to cabinet). All are QoS 1 but
// for beat and ask, and only state is retained.
const (
	ChannelOrder   Channel = "order"   // up: a scan-order
	ChannelFact    Channel = "fact"    // up: what physically happened
	ChannelBeat    Channel = "beat"    // up: health, every few seconds, QoS 0
	ChannelState   Channel = "state"   // up: birth, or the broker's last will
	ChannelAsk     Channel = "ask"     // up: what is there to dispense? QoS 0
	ChannelVerdict Channel = "verdict" // down: the cloud's answer to a scan-order
	ChannelAck     Channel = "ack"     // down: events that are durable in the cloud
	ChannelCommand Channel = "command" // down: what the cabinet is asked to do or know
)

const topicRoot = "vend/v1/"

// Topic returns vend/v1/{cabinet}/{channel}.
func Topic(cabinet string, c Channel) string { return topicRoot + cabinet + "/" + string(c) }

// TopicFilter returns the filter that matches a channel of every cabinet.
func TopicFilter(c Channel) string { return Topic("+", c) }

// ParseTopic splits a topic into cabinet and channel; ok is false for anything
// that is not exactly vend/v1/{valid cabinet}/{known channel}.
func ParseTopic(topic string) (cabinet string, c Channel, ok bool) {
	rest, ok := strings.CutPrefix(topic, topicRoot)
	if !ok {
		return "", "", false
	}
	cabinet, last, ok := strings.Cut(rest, "/")
	if !ok || !ValidCabinet(cabinet) {
		return "", "", false
	}
	switch c = Channel(last); c {
	case ChannelOrder, ChannelFact, ChannelBeat, ChannelState, ChannelAsk, ChannelVerdict, ChannelAck, ChannelCommand:
		return cabinet, c, true
	}
	return "", "", false
}
