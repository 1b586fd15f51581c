package callback_test

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"vendline/cloud/callback"
)

func TestOnlyPublicAddressesAreCalled(t *testing.T) {
	for _, c := range []struct {
		addr string
		want bool
	}{
		{"8.8.8.8", true}, {"93.184.215.14", true}, {"2606:4700::1111", true}, {"::ffff:8.8.8.8", true},
		{"172.15.255.255", true}, {"172.32.0.1", true}, {"100.63.255.255", true}, {"100.128.0.1", true}, {"11.0.0.1", true},
		{"127.0.0.1", false}, {"127.255.255.254", false}, {"::1", false}, {"::ffff:127.0.0.1", false},
		{"10.0.0.1", false}, {"10.255.255.255", false}, {"172.16.0.1", false}, {"172.31.255.255", false}, {"192.168.1.1", false},
		{"::ffff:10.0.0.1", false}, {"::ffff:192.168.0.1", false}, {"::ffff:172.16.0.1", false},
		{"fc00::1", false}, {"fd12:3456::1", false},
		{"169.254.169.254", false}, {"::ffff:169.254.169.254", false}, {"fe80::1", false}, {"fe80::1%eth0", false}, {"fd00:ec2::254", false},
		{"224.0.0.1", false}, {"239.255.255.255", false}, {"ff02::1", false}, {"::ffff:224.0.0.1", false},
		{"0.0.0.0", false}, {"0.1.2.3", false}, {"::", false}, {"::ffff:0.0.0.0", false},
		{"100.64.0.1", false}, {"100.127.255.255", false}, {"::ffff:100.64.0.1", false}, {"100.100.100.200", false},
		{"255.255.255.255", false}, {"240.0.0.1", false}, {"198.18.0.1", false}, {"192.0.0.192", false}, {"192.0.2.1", false}, {"203.0.113.7", false},
		{"64:ff9b::a00:1", false}, {"64:ff9b:1::1", false}, {"2002:a00:1::", false}, {"2001::1", false}, {"2001:db8::1", false},
		{"::10.0.0.1", false}, {"fec0::1", false}, {"100::1", false}, {"64::", false}, {"4000::1", false},
	} {
		if got := (callback.Policy{}).Allows(netip.MustParseAddr(c.addr)); got != c.want {
			t.Errorf("%s: %v", c.addr, got)
		}
	}
	if (callback.Policy{}).Allows(netip.Addr{}) {
		t.Error("no address at all")
	}
	dev := callback.Policy{Loopback: true}
	if !dev.Allows(netip.MustParseAddr("127.0.0.1")) || !dev.Allows(netip.MustParseAddr("::1")) || dev.Allows(netip.MustParseAddr("10.0.0.1")) {
		t.Error("development allows loopback and nothing else")
	}
}

func TestAURLIsCheckedWhenItIsTakenIn(t *testing.T) {
	for _, c := range []struct {
		url       string
		want, dev bool
	}{
		{"https://shop.example/hook", true, true}, {"https://shop.example:8443/h?a=b", true, true}, {"HTTPS://shop.example", true, true},
		{"https://8.8.8.8/", true, true}, {"https://[2606:4700::1111]/", true, true},
		{"http://shop.example/", false, false}, {"http://8.8.8.8/", false, false}, {"ftp://shop.example/", false, false},
		{"file:///etc/passwd", false, false}, {"gopher://shop.example/", false, false}, {"//shop.example/", false, false}, {"/hook", false, false},
		{"https:shop.example", false, false}, {"https://", false, false}, {"https://:443/", false, false},
		{"https://u:p@shop.example/", false, false}, {"https://u@shop.example/", false, false}, {"https://shop.example/#f", false, false},
		{"https://127.0.0.1/", false, true}, {"http://127.0.0.1:9/", false, true}, {"https://localhost/", false, true},
		{"http://localhost:9/", false, true}, {"http://a.localhost./", false, true}, {"https://LOCALHOST./", false, true},
		{"https://10.0.0.1/", false, false}, {"https://[::ffff:10.0.0.1]/", false, false}, {"https://169.254.169.254/latest", false, false},
		{"https://[fe80::1%25eth0]/", false, false}, {"https://[::]/", false, false},
		{"https://0x7f.1/", false, false}, {"https://2130706433/", false, false}, {"https://127.1/", false, false}, {"https://017700000001/", false, false},
		{"https://shop.example/a b", false, false}, {"https://shop.example/\r\nX: y", false, false}, {"https://sh\u00f6p.example/", false, false},
		{"https://shop.example/" + strings.Repeat("a", callback.MaxURL), false, false}, {"", false, false},
	} {
		if err := (callback.Policy{}).Check(c.url); (err == nil) != c.want {
			t.Errorf("%.60q: %v", c.url, err)
		}
		if err := (callback.Policy{Loopback: true}).Check(c.url); (err == nil) != c.dev {
			t.Errorf("%.60q in development: %v", c.url, err)
		}
	}
}

// FuzzNoAddressSlipsThrough holds the guard against a second, slower reading of
// the same rules, over every form that an address has.
func FuzzNoAddressSlipsThrough(f *testing.F) {
	for _, s := range []string{"127.0.0.1", "::ffff:10.0.0.1", "169.254.169.254", "8.8.8.8", "64:ff9b::7f00:1", "2002:7f00:1::", "fe80::1%1", "100.64.0.1"} {
		f.Add(s)
	}
	private := []*net.IPNet{}
	for _, s := range []string{"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16",
		"224.0.0.0/4", "240.0.0.0/4", "::1/128", "::/128", "fc00::/7", "fe80::/10", "ff00::/8"} {
		_, n, err := net.ParseCIDR(s)
		if err != nil {
			f.Fatal(err)
		}
		private = append(private, n)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := netip.ParseAddr(text)
		allowed := err == nil && (callback.Policy{}).Allows(a)
		if checked := (callback.Policy{}).Check("https://" + host(text) + "/"); checked == nil && err == nil && !allowed {
			t.Errorf("the URL of %s passes", text)
		}
		if !allowed {
			return
		}
		forms := []net.IP{net.IP(a.AsSlice())}
		if b := a.As16(); b[0] == 0x20 && b[1] == 0x02 { // 6to4
			forms = append(forms, net.IP(b[2:6]))
		} else if b[0] == 0 && b[1] == 0x64 && b[2] == 0xff && b[3] == 0x9b { // NAT64
			forms = append(forms, net.IP(b[12:16]))
		}
		for _, ip := range forms {
			for _, n := range private {
				if n.Contains(ip) {
					t.Errorf("%s is in %s", text, n)
				}
			}
		}
	})
}

func host(text string) string {
	if strings.Contains(text, ":") {
		return "[" + strings.ReplaceAll(text, "%", "%25") + "]"
	}
	return text
}
