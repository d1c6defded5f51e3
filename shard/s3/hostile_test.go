package s3

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// A fakeServer answers lists as a test wants it, and HEAD requests with 404.
type fakeServer struct {
	*httptest.Server
	lists atomic.Int64
}

func newFakeServer(t *testing.T, list func(w io.Writer, n int64)) *fakeServer {
	t.Helper()
	f := &fakeServer{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		n := f.lists.Add(1)
		_, _ = io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult>`)
		list(w, n)
		_, _ = io.WriteString(w, `</ListBucketResult>`)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fakeServer) options() Options {
	return Options{EndpointURL: f.URL, Key: "k", Secret: "s", Region: "us-east-1"}
}

// file is an entry of a list.
func file(key string) string {
	return fmt.Sprintf(`<Contents><Key>%s</Key><Size>1</Size><ETag>"e"</ETag></Contents>`, key)
}

func more(token string) string {
	return fmt.Sprintf(`<IsTruncated>true</IsTruncated><NextContinuationToken>%s</NextContinuationToken>`, token)
}

// A server whose pages lead back to one that came before ends the list with an error.
func TestListCircle(t *testing.T) {
	for _, c := range []struct {
		name  string
		token func(n int64) string
		key   func(n int64) string
	}{
		{"one token", func(int64) string { return "again" }, func(int64) string { return "d/a" }},
		{"five tokens", func(n int64) string { return fmt.Sprint("t", n%5) }, func(n int64) string { return fmt.Sprint("d/a", n%5) }},
		{"new keys", func(int64) string { return "again" }, func(n int64) string { return fmt.Sprintf("d/%09d", n) }},
		{"no keys", func(int64) string { return "again" }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeServer(t, func(w io.Writer, n int64) {
				if c.key != nil {
					_, _ = io.WriteString(w, file(c.key(n)))
				}
				_, _ = io.WriteString(w, more(c.token(n)))
			})
			_, err := newStore(t, f.options()).List(t.Context(), "s3://bucket")
			if !errors.Is(err, shard.ErrCorrupt) || !strings.Contains(err.Error(), "the same continuation token came twice") {
				t.Errorf("error %v", err)
			}
			if n := f.lists.Load(); n > 64 {
				t.Errorf("%d pages were asked for", n)
			}
		})
	}
}

// A list without an end stops at the bound of a list. The test begins close to it.
func TestListEndless(t *testing.T) {
	f := newFakeServer(t, func(w io.Writer, n int64) {
		for i := range 100 {
			_, _ = io.WriteString(w, file(fmt.Sprintf("d/%09d", 100*n+int64(i))))
		}
		_, _ = io.WriteString(w, more(fmt.Sprint(n)))
	})
	listing := driver.NewListing(nil)
	tree := treeOf(newStore(t, f.options()), "s3://", listing)
	for range driver.MaxEntries/1000 - 1 {
		if err := listing.Take(make([]driver.Entry, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := tree.ReadAll(t.Context(), "bucket/d", "", func(string, bool) bool { return true })
	if err == nil || !strings.Contains(err.Error(), "s3://bucket/d: list: the list is too long: over 10000000 files and directories; give narrower") {
		t.Errorf("error %v", err)
	}
}

// An answer without an end stops at the bound of an answer where it would be read whole: a list, or
// an error. The body of an object does not.
func TestAnswerEndless(t *testing.T) {
	for _, c := range []struct {
		name, query string
		status      int
		bounded     bool
	}{
		{"list", "?list-type=2", http.StatusOK, true},
		{"error", "", http.StatusInternalServerError, true},
		{"object", "", http.StatusPartialContent, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			endless := roundTrip(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: c.status, Request: r, Body: io.NopCloser(zeros{})}, nil
			})
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://host/bucket"+c.query, nil)
			if err != nil {
				t.Fatal(err)
			}
			out, err := boundAnswers{endless}.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.CopyN(io.Discard, out.Body, maxAnswer+1)
			if c.bounded != errors.Is(err, errLongAnswer) || c.bounded != (n == maxAnswer) {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
	}
}

type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
