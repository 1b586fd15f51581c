package api

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"vendline/shared/wire"
)

// ReadJSON reads the whole body of a request, strictly, into the struct that v
// points to; see wire.Decode. Its errors are for Refuse.
func (s *Server) ReadJSON(w http.ResponseWriter, r *http.Request, v any) error {
	if err := checkType(r.Header); err != nil {
		return err
	}
	if r.ContentLength > wire.MaxMessage {
		return fmt.Errorf("%w: %d bytes", wire.ErrTooLarge, r.ContentLength)
	}
	buf := s.buffer()
	defer s.release(buf)
	// Read to the end: a limit alone would accept what follows the value.
	_, err := buf.ReadFrom(http.MaxBytesReader(w, r.Body, wire.MaxMessage))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return fmt.Errorf("%w: over %d bytes", wire.ErrTooLarge, tooLarge.Limit)
	case err != nil:
		return newProblem(wire.CodeInvalidRequest, "the body did not arrive whole")
	}
	return wire.Decode(buf.Bytes(), wire.MaxMessage, v)
}

// checkType lets JSON in UTF-8 pass. It also keeps web forms of other sites out,
// which cannot send this type without asking first.
func checkType(h http.Header) error {
	if enc := h.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return newProblem(codeMediaType, "Content-Encoding %q is not taken", enc)
	}
	kind := h.Get("Content-Type")
	if kind == jsonType {
		return nil
	}
	media, params, err := mime.ParseMediaType(kind)
	if err != nil || media != jsonType {
		return newProblem(codeMediaType, "Content-Type must be %s", jsonType)
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return newProblem(codeMediaType, "JSON is UTF-8; charset %q is not taken", charset)
	}
	return nil
}

const jsonType = "application/json"

// maxKept is the largest buffer that goes back to the pool.
const maxKept = 16 << 10

func (s *Server) buffer() *bytes.Buffer {
	if b, ok := s.buffers.Get().(*bytes.Buffer); ok {
		b.Reset()
		return b
	}
	return bytes.NewBuffer(make([]byte, 0, 1024))
}

func (s *Server) release(b *bytes.Buffer) {
	if b.Cap() <= maxKept {
		s.buffers.Put(b)
	}
}
