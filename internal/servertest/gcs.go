package servertest

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// A GCSServer is an emulator of Google Cloud Storage on a loopback port. It serves anybody, and
// ignores preconditions. Its methods are safe for concurrent use.
type GCSServer struct {
	httpServer
	buckets atomic.Int64
}

var emulators pool[bool, *GCSServer] // by TLS

// GCS returns an emulator that the tests of the binary share.
func GCS(t testing.TB) *GCSServer { return gcsWith(t, false) }

// GCSWithTLS returns one that speaks https.
func GCSWithTLS(t testing.TB) *GCSServer { return gcsWith(t, true) }

func gcsWith(t testing.TB, tls bool) *GCSServer {
	t.Helper()
	program := Need(t, "gcs")
	return emulators.get(t, tls, func() (*GCSServer, error) { return startGCS(program, tls) })
}

func startGCS(program string, tls bool) (*GCSServer, error) {
	s := &GCSServer{}
	how := func(port, root string) (args, env []string) {
		args = []string{program, "-backend", "memory", "-host", loopback, "-port", port, "-public-host", loopback, "-log-level", "error"}
		if s.CA == "" {
			return append(args, "-scheme", "http"), nil
		}
		return append(args, "-scheme", "https", "-cert-location", filepath.Join(root, certFile), "-private-key-location", filepath.Join(root, keyFile)), nil
	}
	return s, s.start("gcs", tls, how, func() error { return s.do(http.MethodGet, "/_internal/healthcheck", nil) })
}

// Bucket makes an empty bucket and returns its name.
func (s *GCSServer) Bucket(t testing.TB) string {
	t.Helper()
	bucket := fmt.Sprintf("bucket-%d", s.buckets.Add(1))
	if err := s.do(http.MethodPost, "/storage/v1/b?project=test", []byte(`{"name":"`+bucket+`"}`)); err != nil {
		t.Fatal(err)
	}
	return bucket
}

// Put makes or replaces an object.
func (s *GCSServer) Put(t testing.TB, bucket, key string, content []byte) {
	t.Helper()
	query := url.Values{"uploadType": {"media"}, "name": {key}}
	if err := s.do(http.MethodPost, "/upload/storage/v1/b/"+bucket+"/o?"+query.Encode(), content); err != nil {
		t.Fatal(err)
	}
}

// PutFile makes or replaces an object from a file.
func (s *GCSServer) PutFile(t testing.TB, bucket, key, path string) {
	t.Helper()
	s.Put(t, bucket, key, contentOf(t, path))
}

// Remove deletes an object.
func (s *GCSServer) Remove(t testing.TB, bucket, key string) {
	t.Helper()
	if err := s.do(http.MethodDelete, "/storage/v1/b/"+bucket+"/o/"+url.PathEscape(key), nil); err != nil {
		t.Fatal(err)
	}
}

// do sends one request and expects success.
func (s *GCSServer) do(method, path string, body []byte) error {
	r, err := http.NewRequestWithContext(context.Background(), method, s.Endpoint+path, bytes.NewReader(body)) // the client has a timeout
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	return s.send(r)
}
