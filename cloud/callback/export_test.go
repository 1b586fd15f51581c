package callback

import (
	"context"
	"net/http"
)

// Dials are the ways in which the strict client reaches an address, past the
// check of the URL.
func Dials() []func(ctx context.Context, address string) error {
	c := client(Policy{})
	return []func(context.Context, string) error{
		func(ctx context.Context, address string) error {
			conn, err := c.Transport.(*http.Transport).DialContext(ctx, "tcp", address)
			if err == nil {
				_ = conn.Close()
			}
			return err
		},
		func(ctx context.Context, address string) error {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address, nil)
			if err != nil {
				return err
			}
			res, err := c.Do(r)
			if err == nil {
				_ = res.Body.Close()
			}
			return err
		},
	}
}
