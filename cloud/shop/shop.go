// Package shop is the shopper's page, /c/{cabinet}: what the code on a cabinet
// leads to. It shows what the cabinet sells, orders, pays, and follows the order
// until everything has come out or its money is back.
//
// The page is one answer: its style and script are in it, and it uses nothing
// but the HTTP API that every phone has. What a cabinet or a product is called
// reaches it as text only.
package shop

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"vendline/shared/wire"
)

//go:embed page/shop.html
var pageHTML string

//go:embed page/shop.css
var pageCSS string

//go:embed page/shop.js
var pageJS string

// Host is the HTTP server that the page is mounted on.
type Host interface {
	Handle(method, path string, h http.Handler)
}

// Shop serves the page. Safe for concurrent use.
type Shop struct {
	page   *template.Template
	ways   []string
	policy string
}

// view is what the page is made of.
type view struct {
	Cabinet string
	Known   bool // it may be the name of a cabinet; whether there is one, the page asks
	Ways    string
	Style   template.CSS
	Script  template.JS
}

// New returns a shop at which one pays in these ways, by their providers' names;
// with none, the page says so.
func New(ways []string) (*Shop, error) {
	page, err := template.New("shop").Parse(pageHTML)
	if err != nil {
		return nil, fmt.Errorf("shop: %w", err)
	}
	return &Shop{page: page, ways: ways,
		policy: "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" +
			"; style-src " + hash(pageCSS) + "; script-src " + hash(pageJS)}, nil
}

// Mount adds the page to a server.
func (s *Shop) Mount(h Host) { h.Handle(http.MethodGet, "/c/:cabinet", http.HandlerFunc(s.show)) }

func (s *Shop) show(w http.ResponseWriter, r *http.Request) {
	v := view{Cabinet: r.PathValue("cabinet"), Ways: strings.Join(s.ways, " "), Style: template.CSS(pageCSS), Script: template.JS(pageJS)}
	status := http.StatusOK
	if v.Known = wire.ValidCabinet(v.Cabinet); !v.Known {
		status = http.StatusNotFound
	}
	var b bytes.Buffer
	if err := s.page.Execute(&b, v); err != nil {
		panic(err) // strings into a template that was parsed: a bug of this package
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", s.policy)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the caller may be gone; nothing to do about it
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
