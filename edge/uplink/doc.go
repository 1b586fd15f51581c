// Package uplink is Step 3 of 8: it carries outbox rows to the cloud over MQTT
// and brings the cloud's answers back.
//
// A row is published at QoS 1, in seq order, within a bounded window; it is
// published again until the cloud's application answer for (epoch, seq) is
// stored. A publish token proves nothing (it completes without an error when a
// connection is replaced, and a PUBACK is not durable on common brokers), so no
// token is ever waited for and none deletes a row.
//
// # One client per connection
//
// Each connection gets a paho client of its own, with the same client id and a
// persistent session, and none of paho's reconnecting. Its own resume resends
// stored publishes in random order and completes their tokens; its reconnect
// sleeps can not be ended; its last will is fixed once, while ours must name the
// session. The loop in uplink.go does what SetConnectRetry and SetAutoReconnect
// would: it never gives up, including on the first connect.
package uplink
