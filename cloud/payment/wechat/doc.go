// Package wechat pays with WeChat Pay, API v3: native payment, where the
// shopper scans or opens a code_url.
//
// Our requests are signed with the merchant's key; answers and callbacks with
// one of WeChat's, named by its serial, of which there are two while WeChat
// changes keys. What a callback says is also encrypted, under a third key.
package wechat
