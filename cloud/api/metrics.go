package api

import (
	"strconv"
	"sync"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
)

// metrics of the HTTP side.
type metrics struct {
	requests *prometheus.HistogramVec
	problems *prometheus.CounterVec
	mu       sync.RWMutex
	known    map[series]prometheus.Observer
}

// series names one histogram; looking it up here costs no allocation.
type series struct {
	method, route string
	status        int
}

func newMetrics(reg prometheus.Registerer, s *Server) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "vendline_http_request_seconds",
			Help:    "Time from the first byte of a request's handling to its last, by route and status. 499: the caller went away.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"method", "route", "code"}),
		problems: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vendline_http_problems_total",
			Help: "Refusals by their stable code.",
		}, []string{"code"}),
		known: map[series]prometheus.Observer{},
	}
	for _, c := range []prometheus.Collector{m.requests, m.problems, s.placing.gauge("placing", "POST /v1/orders under way."), s.waiting.gauge("waiting", "Callers that wait for an order to change.")} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) of(k series) prometheus.Observer {
	m.mu.RLock()
	o := m.known[k]
	m.mu.RUnlock()
	if o != nil {
		return o
	}
	o = m.requests.WithLabelValues(k.method, k.route, strconv.Itoa(k.status))
	m.mu.Lock()
	m.known[k] = o
	m.mu.Unlock()
	return o
}

// edge is the outermost handler: it measures, keeps other web sites' scripts
// out, and turns a panic into an answer.
func (s *Server) edge(c *gin.Context) {
	begun := s.opt.Clock()
	defer func() {
		if cause := recover(); cause != nil {
			s.recovered(c, cause)
		}
		k := series{c.Request.Method, c.FullPath(), c.Writer.Status()}
		if k.route == "" {
			k.method, k.route = "", "none" // what anybody may send must not become a series
		}
		s.metrics.of(k).Observe(s.opt.Clock().Sub(begun).Seconds())
	}()
	if err := s.origin.Check(c.Request); err != nil {
		s.Refuse(c.Writer, c.Request, newProblem(codeOrigin, "a page of another origin sent this"))
		c.Abort()
		return
	}
	c.Next()
}
