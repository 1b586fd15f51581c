package rocket

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2/rlog"
)

// library hands the client library's log to ours. The library has one logger
// for the whole process, so the first queue's is taken.
var library sync.Once

func logTo(l *slog.Logger) {
	library.Do(func() { rlog.SetLogger(&libraryLog{log: l, next: map[string]time.Time{}}) })
}

// libraryLog passes warnings and errors on, each kind at a bounded rate: with a
// broker away the library repeats itself for every queue.
type libraryLog struct {
	log  *slog.Logger
	mu   sync.Mutex
	next map[string]time.Time
}

// tellEvery is the shortest time between two lines of one kind.
const tellEvery = 30 * time.Second

// Debug implements rlog.Logger.
func (l *libraryLog) Debug(string, map[string]any) {}

// Info implements rlog.Logger.
func (l *libraryLog) Info(string, map[string]any) {}

// Warning implements rlog.Logger.
func (l *libraryLog) Warning(msg string, fields map[string]any) { l.tell(slog.LevelWarn, msg, fields) }

// Error implements rlog.Logger.
func (l *libraryLog) Error(msg string, fields map[string]any) { l.tell(slog.LevelError, msg, fields) }

// Fatal implements rlog.Logger; it ends nothing.
func (l *libraryLog) Fatal(msg string, fields map[string]any) { l.tell(slog.LevelError, msg, fields) }

// Level implements rlog.Logger; the level is ours.
func (l *libraryLog) Level(string) {}

// OutputPath implements rlog.Logger; where it goes is ours.
func (l *libraryLog) OutputPath(string) error { return nil }

func (l *libraryLog) tell(level slog.Level, msg string, fields map[string]any) {
	now := time.Now()
	l.mu.Lock()
	if now.Before(l.next[msg]) || len(l.next) > 1000 {
		l.mu.Unlock()
		return
	}
	l.next[msg] = now.Add(tellEvery)
	l.mu.Unlock()
	// Fields may hold whole messages; the cause and the address are enough.
	l.log.Log(context.Background(), level, "rocketmq client: "+msg, "err", fields[rlog.LogKeyUnderlayError], "broker", fields[rlog.LogKeyBroker])
}
