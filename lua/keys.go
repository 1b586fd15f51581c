package lua

// Keys are the keys of one cabinet and one id. They are cut from one string,
// since the deduct path makes them for every request.
type Keys struct {
	Stock, Resv string
	Mark        string // empty without an id
	Limit       string // empty without a user
}

// KeysOf builds the keys of a cabinet, of an id there, and of a user there.
func KeysOf(cabinet, id, user string) Keys {
	all := "stock:{" + cabinet + "}resv:{" + cabinet + "}mark:{" + cabinet + "}:" + id + "limit:{" + cabinet + "}:" + user
	stock := len("stock:{}") + len(cabinet)
	resv := stock + len("resv:{}") + len(cabinet)
	mark := resv + len("mark:{}:") + len(cabinet) + len(id)
	k := Keys{Stock: all[:stock], Resv: all[stock:resv]}
	if id != "" {
		k.Mark = all[resv:mark]
	}
	if user != "" {
		k.Limit = all[mark:]
	}
	return k
}
