package servertest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
)

// A GCSServer is an emulator of Google Cloud Storage on a loopback port. It serves anybody, and
// ignores preconditions. Its methods are safe for concurrent use.
type GCSServer struct {
	Endpoint string // http://127.0.0.1:port, https:// with TLS
	CA       string // path of the certificate authority's PEM file with TLS

	proc    *process
	client  *http.Client
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
	return emulators.get(t, tls, func() (*GCSServer, error) {
		return retry(func() (*GCSServer, error) { return startGCS(program, tls) })
	})
}

func startGCS(program string, tls bool) (*GCSServer, error) {
	root, err := newRoot("gcs")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &GCSServer{Endpoint: "http://127.0.0.1:" + strconv.Itoa(port)}
	args := []string{program, "-backend", "memory", "-host", "127.0.0.1", "-port", strconv.Itoa(port), "-public-host", "127.0.0.1", "-log-level", "error"}
	transport := &http.Transport{DisableKeepAlives: true} // a kept connection would be a goroutine at the end of the test
	s.client = &http.Client{Transport: transport, Timeout: ReadyWithin}
	if tls {
		if transport.TLSClientConfig, err = certify(root); err != nil {
			return nil, err
		}
		s.Endpoint, s.CA = "https://127.0.0.1:"+strconv.Itoa(port), filepath.Join(root, caFile)
		args = append(args, "-scheme", "https", "-cert-location", filepath.Join(root, certFile), "-private-key-location", filepath.Join(root, keyFile))
	} else {
		args = append(args, "-scheme", "http")
	}
	if s.proc, err = launch(watcher, root, nil, nil, args...); err != nil {
		return nil, err
	}
	if err := s.proc.ready(func() error { return s.do(http.MethodGet, "/_internal/healthcheck", nil) }); err != nil {
		s.proc.stop()
		return nil, fmt.Errorf("gcs: %w", err)
	}
	return s, nil
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
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s.Put(t, bucket, key, content)
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
	return send(s.client, r)
}

// send sends a request and expects success.
func send(client *http.Client, r *http.Request) error {
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", r.Method, r.URL.Path, answer.Status, text)
	}
	return nil
}
