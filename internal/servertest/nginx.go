package servertest

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A WebServer is nginx on a loopback port. It serves the files of its directory with ETags, and
// below UntaggedPath with only their times. Both have seconds.
type WebServer struct{ httpServer }

// UntaggedPath leads to the same files, without ETags.
const UntaggedPath = "/untagged"

var webServers pool[bool, *WebServer] // by TLS

// Nginx returns a web server that the tests of the binary share.
func Nginx(t testing.TB) *WebServer { return nginxWith(t, false) }

// NginxWithTLS returns one that speaks https.
func NginxWithTLS(t testing.TB) *WebServer { return nginxWith(t, true) }

func nginxWith(t testing.TB, tls bool) *WebServer {
	t.Helper()
	program := Need(t, "nginx")
	return webServers.get(t, tls, func() (*WebServer, error) { return startNginx(program, tls) })
}

// nginxConf is one process that serves ROOT/data, with all its files below ROOT.
const nginxConf = `daemon off;
master_process off;
pid ROOT/pid;
error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path ROOT/body;
  proxy_temp_path ROOT/proxy;
  fastcgi_temp_path ROOT/fastcgi;
  uwsgi_temp_path ROOT/uwsgi;
  scgi_temp_path ROOT/scgi;
  server {
    listen ADDRESS;
    root ROOT/data;
    location UNTAGGED/ { alias ROOT/data/; etag off; }
  }
}
`

func startNginx(program string, tls bool) (*WebServer, error) {
	s := &WebServer{}
	how := func(port, root string) (args, env []string) {
		address := loopback + ":" + port
		if s.CA != "" {
			address += " ssl;\n    ssl_certificate " + filepath.Join(root, certFile) + ";\n    ssl_certificate_key " + filepath.Join(root, keyFile)
		}
		conf := strings.NewReplacer("ROOT", root, "ADDRESS", address, "UNTAGGED", UntaggedPath).Replace(nginxConf)
		file := filepath.Join(root, "nginx.conf")
		if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
			return []string{"echo", err.Error()}, nil
		}
		return []string{program, "-p", root, "-e", "stderr", "-c", file}, nil
	}
	return s, s.start("nginx", tls, how, func() error {
		r, err := http.NewRequest(http.MethodGet, s.Endpoint+"/", nil)
		if err != nil {
			return err
		}
		answer, err := s.client.Do(r)
		if err != nil {
			return err
		}
		return answer.Body.Close()
	})
}

// Dir makes an empty directory that goes away with the test, and returns its path and the path of
// its URL.
func (s *WebServer) Dir(t testing.TB) (dir, path string) {
	t.Helper()
	dir, err := os.MkdirTemp(data(s.proc.root), "d-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir, "/" + filepath.Base(dir)
}
