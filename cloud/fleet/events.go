package fleet

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// writeLimit is how long one event may take to be written: a page that stopped
// reading is let go.
const writeLimit = 10 * time.Second

// events answers GET /v1/fleet/events: server-sent events named "fleet", each
// with what changed since the last one on this stream (the first has all), and
// "beat" when nothing did for a while. It ends with its reader, or with the
// server; a page connects again by itself.
func (f *Fleet) events(w http.ResponseWriter, r *http.Request) {
	news, leave, err := f.join()
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	defer leave()
	s := stream{w: w, rc: http.NewResponseController(w)}
	if !s.begin() {
		return
	}
	beat := time.NewTicker(f.opt.Beat)
	defer beat.Stop()
	sent := int64(0)
	for {
		var ok bool
		select {
		case <-news:
			body, upTo := f.state.news(sent)
			if body == nil {
				continue
			}
			ok, sent = s.send("fleet", body), upTo
			beat.Reset(f.opt.Beat)
		case <-beat.C:
			ok = s.send("beat", []byte(`{"at":`+strconv.FormatInt(f.opt.Clock().UnixMilli(), 10)+`}`))
		case <-r.Context().Done():
			return
		case <-f.ctx.Done():
			return
		}
		if !ok {
			return
		}
	}
}

// news renders what changed after sample sent; nil if nothing did.
func (s *state) news(sent int64) (body []byte, upTo int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sample == 0 {
		return nil, sent
	}
	event := map[string]any{}
	var cabinets []json.RawMessage
	for _, id := range s.order {
		if k := s.cabinets[id]; k.sample > sent {
			cabinets = append(cabinets, k.body)
		}
	}
	if cabinets != nil {
		event["cabinets"] = cabinets
	}
	if s.listed > sent || sent == 0 {
		event["ids"] = s.order // all there are; a page forgets the others
	}
	for name, part := range map[string]changed{"orders": s.recent.changed, "pipeline": s.pipeline, "desk": s.desk, "away": s.away} {
		if part.sample > sent {
			event[name] = json.RawMessage(part.body)
		}
	}
	if len(event) == 0 {
		return nil, s.sample
	}
	event["at"] = s.at.UnixMilli()
	body, err := json.Marshal(event)
	if err != nil {
		panic(err) // parts that were JSON a moment ago: a bug of this package
	}
	return body, s.sample
}

// stream writes server-sent events.
type stream struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	buf bytes.Buffer
}

func (s *stream) begin() bool {
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx: do not collect
	s.w.WriteHeader(http.StatusOK)
	s.buf.WriteString("retry: 2000\n\n")
	return s.flush()
}

// send writes one event; data must be one line, as JSON is.
func (s *stream) send(event string, data []byte) bool {
	s.buf.WriteString("event: " + event + "\ndata: ")
	s.buf.Write(data)
	s.buf.WriteString("\n\n")
	return s.flush()
}

// flush gives each event a deadline of its own, in place of the server's, which
// is for answers with an end.
func (s *stream) flush() bool {
	_ = s.rc.SetWriteDeadline(time.Now().Add(writeLimit))
	_, err := s.buf.WriteTo(s.w)
	s.buf.Reset()
	return err == nil && s.rc.Flush() == nil
}
