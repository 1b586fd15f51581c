package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"vendline/shared/wire"
)

const checkTimeout = 2 * time.Second

// healthz says that this process serves requests at all.
func (s *Server) healthz(c *gin.Context) {
	writeJSON(c.Writer, http.StatusOK, map[string]string{"status": "ok"})
}

// readyz says whether a request sent here can succeed: every part behind this
// process answers, or can be done without, and it is not about to stop.
func (s *Server) readyz(c *gin.Context) {
	failed, degraded := s.failing(c.Request.Context())
	if s.draining.Err() != nil {
		failed = append(failed, fieldProblem{"server", "is stopping"})
	}
	if len(failed) == 0 {
		names := make([]string, len(s.opt.Checks))
		for i, ch := range s.opt.Checks {
			names[i] = ch.Name
		}
		ready := map[string]any{"status": "ready", "checked": names}
		if len(degraded) > 0 {
			ready["degraded"] = degraded
		}
		writeJSON(c.Writer, http.StatusOK, ready)
		return
	}
	p := newProblem(wire.CodeUnavailable, "not ready; errors names what is missing")
	p.Errors = failed
	s.Refuse(c.Writer, c.Request, p)
}

// failing asks all parts at once and lists those that do not answer, apart from
// those that can be done without. What they said goes to the log, when it is news.
func (s *Server) failing(ctx context.Context) (failed, degraded []fieldProblem) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	errs := make([]error, len(s.opt.Checks))
	var wg sync.WaitGroup
	for i, ch := range s.opt.Checks {
		wg.Go(func() { errs[i] = ch.Ping(ctx) })
	}
	wg.Wait()
	for i, err := range errs {
		name := s.opt.Checks[i].Name
		without := s.opt.Checks[i].Without
		switch {
		case err != nil && without != "":
			degraded = append(degraded, fieldProblem{name, "degraded: " + without})
		case err != nil:
			failed = append(failed, fieldProblem{name, "does not answer"})
		}
		if was := s.down[i].Swap(err != nil); was != (err != nil) {
			if err != nil {
				s.opt.Log.Warn("a part does not answer", "part", name, "ready", without != "", "error", err)
			} else {
				s.opt.Log.Info("a part answers again", "part", name)
			}
		}
	}
	return failed, degraded
}
