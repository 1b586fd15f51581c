package api

import (
	_ "embed"
	"net/http"

	"github.com/gin-gonic/gin"
)

// openAPI is kept by hand; a test holds it against the routes, the problem table
// and what the handlers really answer.
//
//go:embed openapi.json
var openAPI []byte

func (s *Server) openapi(c *gin.Context) { writeBody(c.Writer, http.StatusOK, openAPI) }
