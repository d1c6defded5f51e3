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

// Files are a directory that a web server serves at a URL.
type files struct {
	dir, url string
	store    *Store
	clock    time.Time
}

func newFiles(t *testing.T, dir, url string, o Options) *files {
	f := &files{dir: dir, url: url, store: New(o), clock: time.Now().Add(-time.Hour)}
	t.Cleanup(func() { _ = f.store.Close() })
	return f
}

func (f *files) Store() shard.Store { return f.store }

func (f *files) Unlisted() error { return ErrUnlisted }

// Shared is false of a query, and of braces around a literal name, which URLs do not have.
func (f *files) Shared(pattern string) bool {
	return !strings.Contains(pattern, "?") && pattern != "{a,b}"
}

func (f *files) Address(name string) string { return f.url + "/" + name }

func (f *files) Write(t testing.TB, name string, content []byte) {
	t.Helper()
	file := filepath.Join(f.dir, filepath.FromSlash(name))
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
	f.clock = f.clock.Add(time.Second) // Last-Modified has seconds
	if err := os.Chtimes(file, f.clock, f.clock); err != nil {
		t.Fatal(err)
	}
}

func (f *files) Remove(t testing.TB, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(f.dir, filepath.FromSlash(name))); err != nil {
		t.Fatal(err)
	}
}

// A site has files that Go's server serves, with ETags or times alone.
type site struct {
	*files
	tags bool
	wrap func(http.Handler) http.Handler
}

func newSite(t *testing.T, tags bool) *site {
	dir := t.TempDir()
	s := &site{tags: tags}
	static := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(r.URL.Path))); err == nil && s.tags {
			w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(content)))
		}
		h := http.Handler(static)
		if s.wrap != nil {
			h = s.wrap(h)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.files = newFiles(t, dir, server.URL, Options{RetryFor: 2 * time.Second})
	return s
}

func TestSuite(t *testing.T) {
	for name, tags := range map[string]bool{"ETag": true, "Last-Modified": false} {
		t.Run(name, func(t *testing.T) {
			shardtest.Run(t, func(t *testing.T) shardtest.Fixture { return newSite(t, tags) })
		})
	}
}
