package web

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

// A site is a directory that a web server serves, with ETags or times alone.
type site struct {
	dir    string
	server *httptest.Server
	store  *Store
	clock  time.Time
	tags   bool
	wrap   func(http.Handler) http.Handler
}

func newSite(t *testing.T, tags bool) *site {
	s := &site{dir: t.TempDir(), clock: time.Now().Add(-time.Hour), tags: tags}
	files := http.FileServer(http.Dir(s.dir))
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if content, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(r.URL.Path))); err == nil && s.tags {
			w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(content)))
		}
		h := http.Handler(files)
		if s.wrap != nil {
			h = s.wrap(h)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.server.Close)
	s.store = New(Options{RetryFor: 2 * time.Second})
	t.Cleanup(func() { _ = s.store.Close() })
	return s
}

func (s *site) Store() shard.Store { return s.store }

func (s *site) Unlisted() error { return ErrUnlisted }

// Shared is false of a query, and of braces around a literal name, which URLs do not have.
func (s *site) Shared(pattern string) bool {
	return !strings.Contains(pattern, "?") && pattern != "{a,b}"
}

func (s *site) Address(name string) string { return s.server.URL + "/" + name }

func (s *site) Write(t testing.TB, name string, content []byte) {
	t.Helper()
	file := filepath.Join(s.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		if strings.Contains(err.Error(), "not a directory") {
			return
		}
		t.Fatal(err)
	}
	if i, err := os.Stat(file); err == nil && i.IsDir() {
		return
	}
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
	s.clock = s.clock.Add(time.Second) // Last-Modified has seconds
	if err := os.Chtimes(file, s.clock, s.clock); err != nil {
		t.Fatal(err)
	}
}

func (s *site) Remove(t testing.TB, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(s.dir, filepath.FromSlash(name))); err != nil {
		t.Fatal(err)
	}
}

func TestSuite(t *testing.T) {
	for name, tags := range map[string]bool{"ETag": true, "Last-Modified": false} {
		t.Run(name, func(t *testing.T) {
			shardtest.Run(t, func(t *testing.T) shardtest.Fixture { return newSite(t, tags) })
		})
	}
}
