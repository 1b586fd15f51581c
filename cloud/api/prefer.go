package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"vendline/cloud/order"
)

const (
	headerPrefer  = "Prefer"
	headerApplied = "Preference-Applied"
)

// preferences are those of RFC 7240 that mean something here.
type preferences struct {
	async bool          // respond-async: answer when the intent is durable
	wait  time.Duration // wait: how long the caller has patience; 0 is not said
}

// preferencesOf reads the Prefer headers. What is unknown or malformed is
// ignored, and of two of a name the first counts, as the RFC wants it.
func preferencesOf(h http.Header) (p preferences) {
	values := h[headerPrefer]
	if len(values) == 0 {
		return p
	}
	seen := map[string]bool{}
	for _, list := range values {
		for part := range strings.SplitSeq(list, ",") {
			part, _, _ = strings.Cut(part, ";") // a preference's parameters
			name, value, _ := strings.Cut(part, "=")
			name = strings.ToLower(strings.TrimSpace(name))
			if seen[name] {
				continue
			}
			seen[name] = true
			switch name {
			case "respond-async":
				p.async = true
			case "wait":
				p.wait = seconds(strings.Trim(strings.TrimSpace(value), `"`))
			}
		}
	}
	return p
}

// seconds reads delta-seconds, bounded by the longest patience there is.
func seconds(text string) time.Duration {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0
	}
	return min(time.Duration(n)*time.Second, order.MaxPatience)
}

// applied says which preferences were followed.
func (p preferences) applied() string {
	if p.async && p.wait > 0 {
		return "respond-async, wait=" + strconv.Itoa(int(p.wait.Seconds()))
	}
	return "respond-async"
}
