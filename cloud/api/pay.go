package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"vendline/cloud/order"
	"vendline/cloud/payment"
	"vendline/shared/money"
	"vendline/shared/wire"
)

// payBody is what a phone sends to pay.
type payBody struct {
	Provider string `json:"provider"`
}

// charge is a payment that a shopper can carry out.
type charge struct {
	ID       string            `json:"id"`
	Provider string            `json:"provider"`
	Status   payment.Status    `json:"status"`
	Amount   int64             `json:"amount"`
	Currency string            `json:"currency"`
	URL      string            `json:"url,omitempty"`
	Params   map[string]string `json:"params,omitempty"`
	DueBy    time.Time         `json:"due_by"`
}

// pay answers POST /v1/orders/{id}/payments.
//
// Promise: 201 means that the provider knows the charge. Asked again for the
// same order and provider, the same charge is answered; a caller that hears
// nothing, or a 5xx, asks again.
func (s *Server) pay(c *gin.Context) {
	if !s.paying.enter() {
		s.Refuse(c.Writer, c.Request, newProblem(wire.CodeOverloaded, "more payments at once than this process starts"))
		return
	}
	defer s.paying.leave()
	started, err := s.startPayment(c.Writer, c.Request, c.Param("id"))
	if err != nil {
		s.Refuse(c.Writer, c.Request, err)
		return
	}
	writeJSON(c.Writer, http.StatusCreated, map[string]charge{"payment": {
		ID: started.ID, Provider: started.Provider, Status: started.Status, Amount: started.Amount.Minor, Currency: started.Amount.Currency,
		URL: started.URL, Params: started.Params, DueBy: started.DueBy.UTC(),
	}})
}

func (s *Server) startPayment(w http.ResponseWriter, r *http.Request, id string) (payment.Started, error) {
	var b payBody
	if err := s.ReadJSON(w, r, &b); err != nil {
		return payment.Started{}, err
	}
	if b.Provider == "" || len(b.Provider) > maxProvider {
		return payment.Started{}, &wire.FieldError{Path: "provider", Problem: "must name a way of paying, as in \"sandbox\""}
	}
	if !wire.ValidID(id) {
		return payment.Started{}, order.ErrUnknown
	}
	ctx, cancel := s.unhurried(r)
	defer cancel()
	return s.opt.Payments.Start(ctx, id, b.Provider)
}

// maxProvider is the longest name of a provider.
const maxProvider = 16

// account is an order's money, as GET /v1/orders/{id}/payments shows it.
type account struct {
	Order     string           `json:"order"`
	Payments  []paymentView    `json:"payments"`
	Refunds   []refundView     `json:"refunds"`
	Movements []money.Movement `json:"movements"`
	Sums      sums             `json:"sums"`
}

type paymentView struct {
	ID        string         `json:"id"`
	Provider  string         `json:"provider"`
	Status    payment.Status `json:"status"`
	Amount    int64          `json:"amount"`
	Currency  string         `json:"currency"`
	Ref       string         `json:"ref,omitempty"`
	CreatedAt time.Time      `json:"created_at"`
	ChangedAt time.Time      `json:"changed_at"`
}

type refundView struct {
	ID        string               `json:"id"`
	Payment   string               `json:"payment"`
	SKU       string               `json:"sku,omitempty"`
	Amount    int64                `json:"amount"`
	Currency  string               `json:"currency"`
	Status    payment.ReturnStatus `json:"status"`
	Reason    string               `json:"reason"`
	Attempts  int                  `json:"attempts"`
	CreatedAt time.Time            `json:"created_at"`
	ChangedAt time.Time            `json:"changed_at"`
}

type sums struct {
	Authorised int64  `json:"authorised"`
	Captured   int64  `json:"captured"`
	Refunded   int64  `json:"refunded"`
	Kept       int64  `json:"kept"`
	Currency   string `json:"currency"`
}

// payments answers GET /v1/orders/{id}/payments.
func (s *Server) payments(c *gin.Context) {
	a, err := s.account(c.Request.Context(), c.Param("id"))
	if err != nil {
		s.Refuse(c.Writer, c.Request, err)
		return
	}
	writeJSON(c.Writer, http.StatusOK, a)
}

func (s *Server) account(ctx context.Context, id string) (account, error) {
	if !wire.ValidID(id) {
		return account{}, order.ErrUnknown
	}
	o, err := s.opt.Orders.Get(ctx, id)
	if err != nil {
		return account{}, err
	}
	a, err := s.opt.Payments.Account(ctx, id)
	if err != nil {
		return account{}, err
	}
	total, err := money.Sum(a.Movements)
	if err != nil {
		return account{}, err
	}
	out := account{Order: id, Payments: []paymentView{}, Refunds: []refundView{}, Movements: append([]money.Movement{}, a.Movements...),
		Sums: sums{total.Authorised.Minor, total.Captured.Minor, total.Refunded.Minor, total.Kept.Minor, o.Currency}}
	for _, p := range a.Payments {
		out.Payments = append(out.Payments, paymentView{p.ID, p.Provider, p.Status, p.Amount.Minor, p.Amount.Currency, p.Ref, p.CreatedAt, p.ChangedAt})
	}
	for _, r := range a.Returns {
		out.Refunds = append(out.Refunds, refundView{r.ID, r.Payment, r.SKU, r.Amount.Minor, r.Amount.Currency, r.Status, r.Reason, r.Attempts, r.CreatedAt, r.ChangedAt})
	}
	return out, nil
}

// asItStands is an order with what has become of its money.
func (s *Server) asItStands(ctx context.Context, o order.Order) (answer, error) {
	a := answer{Order: o, current: true}
	if !o.Status.Final() {
		return a, nil
	}
	money, err := s.opt.Payments.Account(ctx, o.ID)
	a.standing = money.Standing()
	return a, err
}

// noPayments is what a service has at which nobody pays.
type noPayments struct{}

func (noPayments) Start(context.Context, string, string) (payment.Started, error) {
	return payment.Started{}, payment.ErrNoProvider
}

func (noPayments) Notify(context.Context, string, payment.Notification) (payment.Answer, error) {
	return payment.Answer{}, payment.ErrNoProvider
}

func (noPayments) Account(context.Context, string) (payment.Account, error) {
	return payment.Account{}, nil
}
