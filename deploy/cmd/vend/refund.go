package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

type refundCmd struct {
	URL  string `help:"Address of vend-cloud." default:"http://127.0.0.1:8080" env:"VENDLINE_URL"`
	JSON bool   `help:"Print the service's answer as it is."`

	Retry refundRetry `cmd:"" help:"Try a refund that is stuck once more. Its id is the subject of its case."`
}

type refundRetry struct {
	ID string `arg:"" help:"The refund's id."`
}

func (c refundRetry) Run(ctx context.Context, all *refundCmd) error {
	body, err := call(ctx, http.MethodPost, all.URL+"/v1/fleet/refunds/"+url.PathEscape(c.ID)+"/retry", nil)
	if err != nil || all.JSON {
		return show(body, err)
	}
	var p struct {
		Retried bool `json:"retried"`
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return fmt.Errorf("the service's answer: %w", err)
	}
	if !p.Retried {
		fmt.Println("it is not stuck; nothing was done")
		return nil
	}
	fmt.Println("it is tried again")
	return nil
}
