// Package alipay pays with Alipay: face-to-face payment, where the shopper
// scans or opens a code made in advance (alipay.trade.precreate).
//
// Requests, answers and callbacks are signed with RSA2 (RSA-SHA256): ours with
// the app's key, theirs with Alipay's. Alipay hears of a charge only when the
// shopper opens the code: until then a query finds nothing, and closing means
// cancelling the code.
package alipay
