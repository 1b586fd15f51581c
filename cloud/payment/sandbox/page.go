package sandbox

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"

	"vendline/cloud/payment"
)

//go:embed page.html
var pageSource string

func parsePage() (*template.Template, error) { return template.New("page").Parse(pageSource) }

// view is what the page shows.
type view struct {
	TradeNo string
	Amount  string
	For     string
	State   payment.ChargeState
	Ref     string
	Problem string
}

func (s *Server) showPage(w http.ResponseWriter, r *http.Request) { s.show(w, r, "") }

func (s *Server) show(w http.ResponseWriter, r *http.Request, problem string) {
	tradeNo, status := r.PathValue("trade_no"), http.StatusOK
	v := view{TradeNo: tradeNo, State: payment.NotFound, Problem: problem}
	if c, ok := s.find(tradeNo); ok {
		v.Amount, v.For, v.State, v.Ref = c.Amount.String(), c.Description, c.stateAt(s.opt.Clock()), c.Ref
	} else {
		status = http.StatusNotFound
	}
	var b bytes.Buffer
	if err := s.page.Execute(&b, v); err != nil {
		s.opt.Log.Error("page not drawn", "error", err)
		http.Error(w, "the page could not be drawn", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

func (s *Server) pressButton(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4096)
	tradeNo := r.PathValue("trade_no")
	var err error
	switch button := r.PostFormValue("button"); button {
	case "pay":
		err = s.Pay(tradeNo)
	case "cancel":
		err = s.Cancel(tradeNo)
	default:
		err = fmt.Errorf("sandbox: no button is called %.20q", button)
	}
	switch {
	case err == nil:
		http.Redirect(w, r, s.pageOf(tradeNo), http.StatusSeeOther) // not the request's path: the server may be mounted below another
	case errors.Is(err, payment.ErrPaid):
		s.show(w, r, "It has been paid already.")
	case errors.Is(err, payment.ErrRefused):
		s.show(w, r, "It can not be paid any more.")
	default:
		s.opt.Log.Error("button failed", "trade_no", tradeNo, "error", err)
		http.Error(w, "that did not work; please go back and try again", http.StatusBadRequest)
	}
}
