package scan

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"vendline/edge/ident"
	"vendline/shared/wire"
)

// readBody reads all of a body, strictly, into v.
func readBody(w http.ResponseWriter, r *http.Request, v any) error {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return fmt.Errorf("%w: over %d bytes", wire.ErrTooLarge, maxBody)
	case err != nil:
		return problemf(http.StatusBadRequest, wire.CodeInvalidRequest, "the body did not arrive whole")
	}
	return wire.Decode(data, maxBody, v)
}

// idOf decides the id of a posted event: the body's, the Idempotency-Key's, or a
// new one. A key that is no UUID stands for one, always the same.
func (a *api) idOf(r *http.Request, inBody *string) (string, error) {
	keys := r.Header.Values("Idempotency-Key")
	if len(keys) > 1 {
		return "", &wire.FieldError{Path: "Idempotency-Key", Problem: "appears twice"}
	}
	var id string
	if len(keys) == 1 {
		switch key := keys[0]; {
		case wire.ValidID(key):
			id = key
		case len(key) >= 1 && len(key) <= 200:
			id = ident.FromKey(a.Cabinet, key)
		default:
			return "", &wire.FieldError{Path: "Idempotency-Key", Problem: "must be 1 to 200 characters"}
		}
	}
	switch {
	case inBody == nil && id == "":
		return a.Mint.V7()
	case inBody == nil:
		return id, nil
	case !wire.ValidID(*inBody):
		return "", &wire.FieldError{Path: "id", Problem: "must be a lower-case UUID"}
	case id != "" && id != *inBody:
		return "", &wire.FieldError{Path: "id", Problem: "differs from the Idempotency-Key"}
	}
	return *inBody, nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the caller may be gone; nothing to do about it
}
