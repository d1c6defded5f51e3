package web

import (
	"testing"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

// newPages returns files that nginx serves, below a path of its own.
func newPages(t *testing.T, server *servertest.WebServer, below string) *files {
	dir, path := server.Dir(t)
	return newFiles(t, dir, server.Endpoint+below+path, Options{CABundle: server.CA})
}

func TestServerSuite(t *testing.T) {
	server, secure := servertest.Nginx(t), servertest.NginxWithTLS(t)
	for _, c := range []struct {
		name, below string
		server      *servertest.WebServer
	}{
		{"ETag", "", server}, {"Last-Modified", servertest.UntaggedPath, server}, {"TLS", "", secure},
	} {
		t.Run(c.name, func(t *testing.T) {
			shardtest.Run(t, func(t *testing.T) shardtest.Fixture { return newPages(t, c.server, c.below) })
		})
	}
}
