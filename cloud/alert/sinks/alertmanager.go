package sinks

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"vendline/cloud/alert"
)

// lasts is until when Alertmanager believes a firing alert that it hears no more
// of: longer than a repeat.
const lasts = 25 * time.Hour

// Alertmanager posts to an Alertmanager's API, which groups, routes and silences
// in its own way.
type Alertmanager struct {
	called string
	url    string // …/api/v2/alerts
	guard  Guard
	client *http.Client
}

// NewAlertmanager returns a sink for the Alertmanager at base.
func NewAlertmanager(called, base string, g Guard) (*Alertmanager, error) {
	if err := g.Check(base); err != nil {
		return nil, err
	}
	return &Alertmanager{called, strings.TrimSuffix(strings.TrimRight(base, "/"), "/api/v2/alerts") + "/api/v2/alerts", g, client(g)}, nil
}

// Name implements alert.Sink.
func (s *Alertmanager) Name() string { return s.called }

// posted is one alert as Alertmanager's API v2 takes it.
type posted struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     string            `json:"startsAt"`
	EndsAt       string            `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

// Send implements alert.Sink: one request for the whole batch. Of one alert only
// the newest state is sent, since it is what Alertmanager keeps: an end that
// comes after a late beginning must win.
func (s *Alertmanager) Send(ctx context.Context, batch []alert.Notification) []error {
	at := map[string]int{}
	var list []posted
	for _, n := range batch {
		p := alertmanagerAlert(n)
		if i, ok := at[n.Key]; ok {
			list[i] = p
			continue
		}
		at[n.Key] = len(list)
		list = append(list, p)
	}
	body, err := json.Marshal(list)
	if err == nil {
		_, err = post(ctx, s.client, s.guard, s.url, body, nil)
	}
	return alert.All(batch, err)
}

// alertmanagerAlert keeps what changes out of the labels: they are the alert's
// identity.
func alertmanagerAlert(n alert.Notification) posted {
	labels := map[string]string{"alertname": n.Rule, "severity": string(n.Severity), "service": "vendline", "key": n.Key}
	for k, v := range n.Labels {
		labels["vendline_"+k] = v
	}
	p := posted{Labels: labels, GeneratorURL: n.URL, StartsAt: stamp(n.Since), EndsAt: stamp(n.At.Add(lasts)),
		Annotations: map[string]string{"summary": n.Summary, "runbook": n.Runbook, "count": strconv.FormatInt(n.Count, 10), "state": string(n.State)}}
	if n.State == alert.Resolved {
		p.EndsAt = stamp(n.At)
	}
	return p
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
