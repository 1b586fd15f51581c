package bolt

import "go.etcd.io/bbolt"

// ack removes messages that all groups have acknowledged and marks the others.
func (w writer) ack(a ack) error {
	b, c, err := w.open(a.topic)
	if err != nil {
		return err
	}
	msgs, groups := b.Bucket(bucketMsgs), b.Bucket(bucketGroups)
	mine := groups.Bucket([]byte(a.group))
	others := map[string]*bbolt.Bucket{}
	err = groups.ForEachBucket(func(name []byte) error {
		if string(name) != a.group {
			others[string(name)] = groups.Bucket(name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range a.ids {
		k := idKey(id)
		if msgs.Get(k) == nil || mine.Get(k) != nil {
			continue // acknowledged before
		}
		if !inAll(others, k) {
			c.acked[a.group]++
			if err := mine.Put(k, nil); err != nil {
				return err
			}
			continue
		}
		c.removed++
		if err := msgs.Delete(k); err != nil {
			return err
		}
		for name, o := range others {
			c.acked[name]--
			if err := o.Delete(k); err != nil {
				return err
			}
		}
	}
	return nil
}

func inAll(groups map[string]*bbolt.Bucket, k []byte) bool {
	for _, g := range groups {
		if g.Get(k) == nil {
			return false
		}
	}
	return true
}
