package alipay

// RequestNo is a refund's ID as it is sent.
func RequestNo(id string) string { return requestNo(id) }
