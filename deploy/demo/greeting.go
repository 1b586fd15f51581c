package demo

import "fmt"

// Greet prints what to try, ready to paste.
func (d *Demo) Greet() {
	fmt.Fprintf(d.cfg.Out, `
Vendline is running: %d cabinets, state in %s

  page      %s/

  order by phone
    curl -s %s/v1/orders -H 'Content-Type: application/json' -H "Idempotency-Key: $(date +%%s%%N)" \
      -d '{"cabinet":"C001","user":"me","lines":[{"sku":"cola","qty":1}]}'

  order by scan, at cabinet C001's own agent
    curl -s %s/v1/scan-orders -H 'Content-Type: application/json' \
      -d '{"user":"me","lines":[{"sku":"water","qty":2}]}'

Ctrl-C drains and stops. There is no access control yet: everything listens on loopback only.
`, len(d.Agents), d.cfg.Dir, d.URL(), d.URL(), d.Agents[0].URL())
}
