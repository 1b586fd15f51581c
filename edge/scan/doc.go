// Package scan is Step 1 of 8: the local HTTP API that the cabinet's firmware
// posts to, in any language. It listens on loopback or a Unix socket.
//
// 202 means that the event is on the disk and will reach the cloud. Any other
// answer to a POST means that nothing was kept, and that the same id may be sent
// again.
package scan
