package fleet

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"strings"
)

//go:embed page/page.html
var pageHTML string

//go:embed page/page.css
var pageCSS string

//go:embed page/page.js
var pageJS string

// page is the operator's page: one answer, nothing else to fetch.
type page struct {
	body   []byte
	policy []string // Content-Security-Policy: our own style and script, by their hash, and nothing else
}

// compose puts a page together from its own HTML and script and the style that
// all pages share.
func compose(html, js string) page {
	body := strings.NewReplacer("/*page.css*/", pageCSS, "/*page.js*/", js).Replace(html)
	policy := "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" +
		"; style-src " + hash(pageCSS) + "; script-src " + hash(js)
	return page{body: []byte(body), policy: []string{policy}}
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func (p page) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h["Content-Security-Policy"] = p.policy
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	_, _ = w.Write(p.body) // the caller may be gone; nothing to do about it
}
