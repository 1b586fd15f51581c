package scan

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
)

// Listen opens "host:port" or "unix:/path". Anybody who can reach the API can
// sell, so an address beyond this machine is refused unless anywhere is set.
// A host name is refused too: what it points at may change.
func Listen(ctx context.Context, addr string, anywhere bool) (net.Listener, error) {
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		return listenUnix(ctx, path)
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("scan: listen address %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); !anywhere && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("scan: %q is not a loopback address; --listen-anywhere if you mean it", addr)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("scan: %w", err)
	}
	return l, nil
}

// listenUnix replaces a socket that a killed agent left behind. The caller holds
// the outbox's lock, so it can not belong to a live one.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("scan: remove old socket: %w", err)
		}
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("scan: %w", err)
	}
	if err := os.Chmod(path, 0o660); err != nil {
		l.Close()
		return nil, fmt.Errorf("scan: %w", err)
	}
	return l, nil
}
