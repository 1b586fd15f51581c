package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// lookEvery is how often a stream reads an order's history though nobody said
// that it changed: what other processes write is found by this.
const lookEvery = time.Second

// events answers GET /v1/orders/{id}/events: an order's history, oldest first.
// As text/event-stream it goes on as things happen; each event's id is its
// place in the history, so that a page that lost its connection misses nothing.
func (s *Server) events(c *gin.Context) {
	id := c.Param("id")
	if !wire.ValidID(id) {
		s.Refuse(c.Writer, c.Request, order.ErrUnknown)
		return
	}
	history, err := s.opt.Orders.History(c.Request.Context(), id)
	if err != nil {
		s.Refuse(c.Writer, c.Request, err)
		return
	}
	if !strings.Contains(c.GetHeader("Accept"), "text/event-stream") {
		writeJSON(c.Writer, http.StatusOK, map[string]any{"order": id, "events": history})
		return
	}
	if !s.waiting.enter() {
		s.Refuse(c.Writer, c.Request, newProblem(wire.CodeOverloaded, "more callers wait than this process keeps; ask without text/event-stream"))
		return
	}
	defer s.waiting.leave()
	ctx, cancel := context.WithCancel(c.Request.Context())
	defer cancel()
	defer context.AfterFunc(s.draining, cancel)()
	s.stream(ctx, c.Writer, id, history, seenBefore(c.Request))
}

// seenBefore is how many entries the caller has by its Last-Event-ID.
func seenBefore(r *http.Request) int {
	n, err := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// stream sends entries as they come about, until ctx ends or the caller stops
// reading. A failed look is made up for by the next.
func (s *Server) stream(ctx context.Context, w http.ResponseWriter, id string, history []order.Entry, sent int) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx: do not collect
	w.WriteHeader(http.StatusOK)
	rc := http.NewResponseController(w)
	if !send(rc, w, []byte("retry: 2000\n\n")) {
		return
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	said := time.Now()
	for {
		if len(history) > sent || time.Since(said) > streamBeat {
			if !send(rc, w, entries(history, sent)) {
				return
			}
			sent, said = max(sent, len(history)), time.Now()
		}
		changed, stop := s.opt.Orders.Watch(ctx, id)
		select {
		case <-changed:
		case <-look.C:
		case <-ctx.Done():
			stop()
			return
		}
		stop()
		if later, err := s.opt.Orders.History(ctx, id); err == nil {
			history = later
		}
	}
}

// streamBeat is how long a stream may be silent.
const streamBeat = 15 * time.Second

// entries renders what comes after the first sent entries; a comment if nothing
// does, which tells both sides that the connection lives.
func entries(history []order.Entry, sent int) []byte {
	var b bytes.Buffer
	for i := sent; i < len(history); i++ {
		data, err := json.Marshal(history[i])
		if err != nil {
			panic(err) // unreachable: strings and integers
		}
		b.WriteString("id: " + strconv.Itoa(i+1) + "\nevent: " + string(history[i].Kind) + "\ndata: ")
		b.Write(data)
		b.WriteString("\n\n")
	}
	if b.Len() == 0 {
		b.WriteString(": nothing new\n\n")
	}
	return b.Bytes()
}

// send writes and flushes, with a deadline of its own in place of the server's,
// which is for answers with an end.
func send(rc *http.ResponseController, w http.ResponseWriter, b []byte) bool {
	_ = rc.SetWriteDeadline(time.Now().Add(writeTimeout)) // a test's writer has none
	_, err := w.Write(b)
	return err == nil && rc.Flush() == nil
}
