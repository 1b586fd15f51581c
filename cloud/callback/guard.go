package callback

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
)

// MaxURL is the longest URL that is called back.
const MaxURL = 1024

// ErrForbidden says that an address is not on the public internet.
var ErrForbidden = errors.New("callback: the address is not a public one")

// Policy says whom callbacks may reach.
type Policy struct {
	// Loopback also allows loopback addresses, and http to them: for development.
	Loopback bool
}

// nets are the networks that no callback may reach, beside those that netip
// knows by name: whoever may name a URL must not thereby reach the cloud's own
// servers, or its provider's metadata.
var nets = [...]netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("100.64.0.0/10"),   // carrier-grade NAT
	netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("192.88.99.0/24"),  // 6to4 relays
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved, and broadcast
	netip.MustParsePrefix("2001::/23"),       // protocol assignments, Teredo among them
	netip.MustParsePrefix("2001:db8::/32"),   // documentation
	netip.MustParsePrefix("2002::/16"),       // 6to4: an IPv4 address in IPv6
}

// public6 is all of IPv6 that was ever given out. What is beyond it carries, or
// is, an address of another kind: NAT64, IPv4-compatible, site-local.
var public6 = netip.MustParsePrefix("2000::/3")

// Allows reports whether a callback may reach an address.
func (p Policy) Allows(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	a = a.Unmap() // ::ffff:10.0.0.1 is 10.0.0.1
	if a.IsLoopback() {
		return p.Loopback
	}
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() || a.Is6() && !public6.Contains(a) {
		return false
	}
	for _, n := range nets {
		if n.Contains(a) {
			return false
		}
	}
	return true
}

// control checks the address that is about to be dialled, after its name was
// resolved: a name that resolves to something else the second time is of no use.
func (p Policy) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s", ErrForbidden, address)
	}
	if !p.Allows(at.Addr()) {
		return fmt.Errorf("%w: %s", ErrForbidden, at.Addr())
	}
	return nil
}

// Check says what is wrong with a URL that somebody asks to be called back at.
// A name is looked up only when it is called.
func (p Policy) Check(text string) error {
	if len(text) > MaxURL {
		return fmt.Errorf("may have at most %d bytes", MaxURL)
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] >= 0x7f {
			return errors.New("must be visible ASCII; escape the rest")
		}
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Hostname() == "" {
		return errors.New("must be an absolute URL")
	}
	if u.User != nil {
		return errors.New("must not carry a user or password")
	}
	if u.Fragment != "" {
		return errors.New("must not have a fragment")
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	local := host == "localhost" || strings.HasSuffix(host, ".localhost")
	addr, notIP := netip.ParseAddr(host)
	switch {
	case notIP == nil && !p.Allows(addr), local && !p.Loopback:
		return errors.New("must be on the public internet")
	case notIP != nil && (numeric(host) || strings.ContainsAny(host, ":%")):
		return errors.New("must have a name, or an address in its usual form")
	}
	switch loopback := local || notIP == nil && addr.Unmap().IsLoopback(); {
	case u.Scheme == "https", u.Scheme == "http" && loopback && p.Loopback:
		return nil
	}
	return errors.New("must be https")
}

// numeric reports whether some resolver may take a host for an IPv4 address in
// a form of old: 0x7f.1, 2130706433, 127.1.
func numeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" {
		return true
	}
	return last[0] >= '0' && last[0] <= '9'
}
