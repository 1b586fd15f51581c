package sandbox

import (
	"encoding/json"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"
)

var chargesBucket = []byte("charges")

// shelf keeps charges in a file, synced on every change, so that a server that
// is killed still knows who paid and which callbacks it owes. A nil shelf keeps
// nothing.
type shelf struct{ db *bolt.DB }

func openShelf(path string) (*shelf, map[string]*charge, error) {
	charges := map[string]*charge{}
	if path == "" {
		return nil, charges, nil
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: 2 * time.Second, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return nil, nil, fmt.Errorf("sandbox: open %s (does another process have it open?): %w", path, err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists(chargesBucket)
		if err != nil {
			return err
		}
		return bucket.ForEach(func(tradeNo, value []byte) error {
			c := new(charge)
			if err := json.Unmarshal(value, c); err != nil {
				return fmt.Errorf("charge %s: %w", tradeNo, err)
			}
			charges[string(tradeNo)] = c
			return nil
		})
	})
	if err != nil {
		_ = db.Close()
		return nil, nil, fmt.Errorf("sandbox: read %s (remove it to start afresh): %w", path, err)
	}
	return &shelf{db}, charges, nil
}

func (s *shelf) put(c *charge) error {
	if s == nil {
		return nil
	}
	value, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("sandbox: keep charge %s: %w", c.TradeNo, err)
	}
	err = s.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(chargesBucket).Put([]byte(c.TradeNo), value) })
	if err != nil {
		return fmt.Errorf("sandbox: keep charge %s: %w", c.TradeNo, err)
	}
	return nil
}

func (s *shelf) close() error {
	if s == nil {
		return nil
	}
	return s.db.Close()
}
