package gs

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/cloud"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

func isList(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/storage/v1/b/") }
func isRead(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/download/") }

// through is a bucket with one object, behind a proxy.
func through(t *testing.T, content []byte) (*fixture, *servertest.HTTPProxy) {
	server := servertest.GCS(t)
	f := &fixture{server: server, bucket: server.Bucket(t)}
	proxy := servertest.NewHTTPProxy(t, server.Endpoint)
	f.store = newStore(t, Options{Endpoint: proxy.Endpoint(), Anonymous: true, RetryFor: 2 * time.Second})
	f.Write(t, "f", content)
	return f, proxy
}

func TestServerFaults(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 40_000)
	refused := func(status int, text string) *servertest.Answer {
		return &servertest.Answer{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: text}
	}
	bytesOf := func(r *http.Request) bool { return isRead(r) && r.Header.Get("Range") != "bytes=0-0" } // not a look
	for _, c := range []struct {
		name string
		rule *servertest.Rule
		want error // nil: the bytes come
		text string
	}{
		{"busy", &servertest.Rule{Match: isRead, Times: 3, Answer: refused(503, "")}, nil, ""},
		{"throttled list", &servertest.Rule{Match: isList, Times: 2, Answer: refused(429, "")}, nil, ""},
		{"cut", &servertest.Rule{Match: bytesOf, Times: 4, Cut: func(n int64) bool { return n > 100_000 }, After: 50_000}, nil, ""},
		{"reset", &servertest.Rule{Match: bytesOf, Times: 3, Cut: func(int64) bool { return true }, Reset: true}, nil, ""},
		{"busy for good", &servertest.Rule{Match: isRead, Answer: refused(503, "")}, shard.ErrTransient, "gave up"},
		{
			"denied", &servertest.Rule{Match: servertest.Any, Answer: refused(403,
				`{"error":{"code":403,"message":"x@y lacks storage.objects.get","errors":[{"reason":"forbidden"}]}}`)},
			shard.ErrDenied, "forbidden: x@y lacks storage.objects.get",
		},
		{"another generation", &servertest.Rule{Match: bytesOf, Header: func(r *http.Response) {
			r.Header.Set("X-Goog-Generation", "1")
		}}, shard.ErrChanged, "version 1"},
		{"a login page", &servertest.Rule{Match: isList, Answer: &servertest.Answer{Status: 200, Body: "<html>log in"}}, errForeign, "log in"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, proxy := through(t, content)
			proxy.Use(c.rule)
			got, err := shardtest.ReadFile(t, f, len(content))
			if !errors.Is(err, c.want) || c.want == nil && !bytes.Equal(got, content) || c.rule.Struck() == 0 {
				t.Fatalf("error %v, want %v; the fault struck %d times", err, c.want, c.rule.Struck())
			}
			if c.want != nil && !strings.Contains(err.Error(), c.text) {
				t.Errorf("the error lacks %q: %v", c.text, err)
			}
		})
	}
}

// An object that is replaced is an error, whether the server refuses the old generation or sends
// the new one.
func TestServerReplaced(t *testing.T) {
	f, proxy := through(t, []byte("first"))
	found, err := f.store.List(t.Context(), f.Address("f"))
	if err != nil {
		t.Fatal(err)
	}
	o, err := f.store.Open(t.Context(), found[0])
	if err != nil {
		t.Fatal(err)
	}
	f.Write(t, "f", []byte("other"))
	p := make([]byte, 5)
	if err := o.ReadAt(t.Context(), p, 0); !errors.Is(err, shard.ErrChanged) || !strings.Contains(err.Error(), found[0].Version) {
		t.Errorf("%q, %v", p, err)
	}
	proxy.Use(&servertest.Rule{Match: func(r *http.Request) bool {
		return isRead(r) && r.URL.Query().Get("ifGenerationMatch") == found[0].Version // as the service refuses it
	}, Answer: &servertest.Answer{Status: 412, Header: http.Header{"Content-Type": {"text/plain"}}, Body: "Precondition Failed"}})
	if err := o.ReadAt(t.Context(), p, 0); !errors.Is(err, shard.ErrChanged) || !strings.Contains(err.Error(), found[0].Version) {
		t.Errorf("%q, %v", p, err)
	}
}

// Keys are taken as they are, in lists and in reads.
func TestServerKeys(t *testing.T) {
	f := newFixture(t, servertest.GCS(t))
	names := []string{"d/a b", "d/100%", "d/x#y", "d/q?x", "d/한", "d/a+b", "d/k=v%2Fw/a", "d/a;b&c", "d/'q'", "d/a//b"}
	for _, name := range names {
		f.Write(t, name, []byte(name))
	}
	found, err := f.store.List(t.Context(), f.Address("d"))
	if err != nil || len(found) != len(names) {
		t.Fatalf("%d shards, %v", len(found), err)
	}
	for _, s := range found {
		o, err := f.store.Open(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, s.Size)
		if err := o.ReadAt(t.Context(), p, 0); err != nil || f.Address(string(p)) != s.URI {
			t.Errorf("%s: %q, %v", s.URI, p, err)
		}
	}
}

// A long list comes in pages, directory by directory once it is long.
func TestServerPages(t *testing.T) {
	f := newFixture(t, servertest.GCS(t))
	for i := range 60 {
		f.Write(t, fmt.Sprintf("t/k=%02d/part-%d", i%20, i), []byte("x"))
	}
	for _, n := range []int{0, 3, 7} {
		s, err := (Options{Endpoint: f.server.Endpoint, Anonymous: true, Getenv: shardtest.Environ(nil)}).service()
		if err != nil {
			t.Fatal(err)
		}
		s.pageKeys = n
		store := Options{}.store(func() (cloud.Service, error) { return s, nil })
		for pattern, want := range map[string]int{"t": 60, "t/k=0*": 30, "t/k=07/*": 3, "t/**/part-5*": 11} {
			if found, err := store.List(t.Context(), f.Address(pattern)); err != nil || len(found) != want {
				t.Errorf("pages of %d, %s: %d shards, %v", n, pattern, len(found), err)
			}
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}
