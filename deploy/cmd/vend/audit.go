package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"text/tabwriter"

	"vendline/deploy/stack/stackcmd"
)

// audited is the service's answer to an audit.
type audited struct {
	Differences []struct{ Rule, Subject, Detail string }
	More        bool
	Days        []struct {
		Day, Currency                               string
		Orders, Units, Consumed, Captured, Refunded int64
	}
}

// audit has the ledger's books audited, and tells what does not agree.
func (c reconcileCmd) audit(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/v1/fleet/audit", bytes.NewBufferString("{}"))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("vend-cloud does not answer at %s: %w", c.URL, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, body)
	}
	var a audited
	if err := json.Unmarshal(body, &a); err != nil {
		return fmt.Errorf("the service's answer: %w", err)
	}
	if c.JSON {
		fmt.Println(string(bytes.TrimSpace(body)))
	} else {
		a.tell(os.Stdout)
	}
	if len(a.Differences) > 0 {
		return stackcmd.ExitError{Code: 1}
	}
	return nil
}

func (a audited) tell(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(a.Days) > 0 {
		fmt.Fprintln(t, "DAY\tCURRENCY\tORDERS\tUNITS\tPAID\tCAPTURED\tREFUNDED")
	}
	for _, d := range a.Days {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\n", d.Day, d.Currency, d.Orders, d.Units, d.Consumed, d.Captured, d.Refunded)
	}
	_ = t.Flush()
	for _, d := range a.Differences {
		fmt.Fprintf(w, "%s of %s: %s\n", d.Rule, d.Subject, d.Detail)
	}
	switch {
	case a.More:
		fmt.Fprintf(w, "%d differences are named, and there are more; each has a case\n", len(a.Differences))
	case len(a.Differences) > 0:
		fmt.Fprintf(w, "%d differences; each has a case\n", len(a.Differences))
	default:
		fmt.Fprintln(w, "the books agree")
	}
}
