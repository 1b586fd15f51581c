package sandbox

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
)

// Client is an HTTP client whose every request is answered by this server, in
// process: no port is opened, and any base URL will do.
func (s *Server) Client() *http.Client { return &http.Client{Transport: inProcess{s}} }

type inProcess struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w, in := &recorded{header: http.Header{}, status: http.StatusOK}, r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody // as a server's handler may expect
	}
	p.handler.ServeHTTP(w, in)
	if err := r.Context().Err(); err != nil {
		return nil, err // the caller did not wait for the answer
	}
	return &http.Response{
		Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: w.header,
		Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// recorded is an answer in memory.
type recorded struct {
	header http.Header
	status int
	wrote  bool
	body   bytes.Buffer
}

func (w *recorded) Header() http.Header { return w.header }

func (w *recorded) WriteHeader(status int) {
	if !w.wrote {
		w.status, w.wrote = status, true
	}
}

func (w *recorded) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}
