package sinks

import (
	"context"
	"log/slog"

	"vendline/cloud/alert"
)

// Log tells alerts to the service's own log. It never fails.
type Log struct {
	Called string
	Log    *slog.Logger
}

// Name implements alert.Sink.
func (s Log) Name() string { return s.Called }

// Send implements alert.Sink.
func (s Log) Send(ctx context.Context, batch []alert.Notification) []error {
	for _, n := range batch {
		level := slog.LevelWarn
		switch {
		case n.State == alert.Resolved || n.Severity == alert.Info:
			level = slog.LevelInfo
		case n.Severity == alert.Critical:
			level = slog.LevelError
		}
		s.Log.Log(ctx, level, "alert", "state", n.State, "severity", n.Severity, "alert", n.Key, "summary", n.Summary, "count", n.Count,
			"since", n.Since, "todo", n.Runbook, "again", n.Again, "id", n.ID)
	}
	return alert.All(batch, nil)
}
