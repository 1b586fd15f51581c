package wechat

// RefundNo is a refund's ID as it is sent.
func RefundNo(id string) string { return refundNo(id) }
