package deduct

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// library hands the client library's log to ours. The library has one logger
// for the whole process, so the first one is taken.
var library sync.Once

// LogTo hands what the client library has to say to log, at a bounded rate:
// with Redis away it repeats itself with every dial.
func LogTo(log *slog.Logger) {
	library.Do(func() { redis.SetLogger(newLibraryLog(log, time.Now)) })
}

// tellEvery is the shortest time between two lines of one kind.
const tellEvery = 30 * time.Second

// libraryLog passes lines on, each kind at a bounded rate. A kind is a format;
// the library has a few dozen.
type libraryLog struct {
	log  *slog.Logger
	now  func() time.Time
	mu   sync.Mutex
	next map[string]time.Time
	kept map[string]int // lines of a kind that were not told
}

func newLibraryLog(log *slog.Logger, now func() time.Time) *libraryLog {
	return &libraryLog{log: log, now: now, next: map[string]time.Time{}, kept: map[string]int{}}
}

// Printf implements the library's logger, which knows no levels.
func (l *libraryLog) Printf(ctx context.Context, format string, v ...any) {
	now := l.now()
	l.mu.Lock()
	if now.Before(l.next[format]) {
		l.kept[format]++
		l.mu.Unlock()
		return
	}
	kept := l.kept[format]
	l.next[format], l.kept[format] = now.Add(tellEvery), 0
	l.mu.Unlock()
	l.log.WarnContext(ctx, "redis client: "+fmt.Sprintf(format, v...), "untold", kept)
}
