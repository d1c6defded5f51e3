package web

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// faulty answers the first n requests for bytes of the file f in its own way.
func faulty(t *testing.T, n int32, content []byte, how func(w http.ResponseWriter, r *http.Request, whole http.Handler)) (*site, shard.Object) {
	t.Helper()
	s := newSite(t, true)
	s.Write(t, "f", content)
	found, err := s.store.List(t.Context(), s.Address("f"))
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	s.wrap = func(whole http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1) > n {
				whole.ServeHTTP(w, r)
				return
			}
			how(w, r, whole)
		})
	}
	o, err := s.store.Open(t.Context(), found[0])
	if err != nil {
		t.Fatal(err)
	}
	return s, o
}

// A cutWriter breaks off a body.
type cutWriter struct {
	http.ResponseWriter
	left int
}

func (c *cutWriter) Write(p []byte) (int, error) {
	if len(p) > c.left {
		_, _ = c.ResponseWriter.Write(p[:c.left])
		panic(http.ErrAbortHandler)
	}
	c.left -= len(p)
	return c.ResponseWriter.Write(p)
}

func status(code int, head ...string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		for i := 0; i < len(head); i += 2 {
			w.Header().Set(head[i], head[i+1])
		}
		w.WriteHeader(code)
	}
}

func TestFaults(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 40_000)
	for _, c := range []struct {
		name string
		n    int32
		how  func(w http.ResponseWriter, r *http.Request, whole http.Handler)
		want error // nil: the bytes come
		text string
	}{
		{"busy", 3, status(503), nil, ""},
		{"throttled", 1, status(429, "Retry-After", "1"), nil, ""},
		{"broken", 2, status(500), nil, ""},
		{"cut", 3, func(w http.ResponseWriter, r *http.Request, whole http.Handler) {
			whole.ServeHTTP(&cutWriter{w, 100_000}, r)
		}, nil, ""},
		{"shorter ranges", 1000, func(w http.ResponseWriter, r *http.Request, whole http.Handler) {
			from, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Range"), "bytes="), "-")
			to := map[string]string{"0": "299999", "300000": "599999", "600000": "639999"}[from]
			r.Header.Set("Range", "bytes="+from+"-"+to)
			whole.ServeHTTP(w, r)
		}, nil, ""},
		{"gone", 1, status(404), shard.ErrNotExist, "404"},
		{"denied", 1, status(401), shard.ErrDenied, "http.header.Authorization"},
		{"expired", 1, status(403), shard.ErrDenied, "expired"},
		{"changed", 1, status(412), shard.ErrChanged, "412"},
		{"for good", 1000, status(502), shard.ErrTransient, "gave up after"},
		{"another version", 1, func(w http.ResponseWriter, r *http.Request, whole http.Handler) {
			r.Header.Del("If-Match")
			w.Header().Set("ETag", `"other"`)
			whole.ServeHTTP(w, r)
		}, shard.ErrChanged, `is 640000 bytes, ETag "other"`},
		{"another range", 1, func(w http.ResponseWriter, r *http.Request, whole http.Handler) {
			r.Header.Set("Range", "bytes=5-9")
			whole.ServeHTTP(w, r)
		}, errForeign, "bytes 5 to 10 came"},
		{"compressed", 1, status(200, "Content-Encoding", "gzip"), errForeign, "gzip"},
		{"many redirects", 1000, status(302, "Location", "/f"), errForeign, "over 5 redirects"},
		{"redirect to nowhere", 1, status(302, "Location", "ftp://x/"), errForeign, "redirects to no address"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, o := faulty(t, c.n, content, c.how)
			p := make([]byte, len(content))
			err := o.ReadAt(t.Context(), p, 0)
			if !errors.Is(err, c.want) || c.want == nil && !bytes.Equal(p, content) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if c.want == nil {
				return
			}
			if e := (*shard.Error)(nil); !errors.As(err, &e) || e.URI != s.Address("f") || !strings.Contains(err.Error(), c.text) {
				t.Errorf("the error lacks %q: %v", c.text, err)
			}
		})
	}
}

// A server without ranges, as python -m http.server is one, is refused with what to do.
// Requests in flight are not more than a server's rate limit leaves, until it leaves more.
func TestRateLimitLeft(t *testing.T) {
	left := "3"
	s, o := faulty(t, 9, []byte("content"), func(w http.ResponseWriter, r *http.Request, whole http.Handler) {
		w.Header().Set("RateLimit", `"resolvers";r=`+left+`;t=55`)
		whole.ServeHTTP(w, r)
	})
	_, to, err := s.store.at(s.Address("f"))
	if err != nil {
		t.Fatal(err)
	}
	before := to.window.Size()
	for _, c := range []struct {
		left string
		want int
	}{{"3", 3}, {"0", leastRequests}, {"5000", before}, {"a lot", before}} {
		left = c.left
		if err := o.ReadAt(t.Context(), make([]byte, 7), 0); err != nil || before <= 3 || to.window.Size() != c.want {
			t.Errorf("%s left: the window is %d, want %d; %v", c.left, to.window.Size(), c.want, err)
		}
	}
}

func TestNoRanges(t *testing.T) {
	s := newSite(t, false)
	s.Write(t, "f", []byte("0123456789"))
	s.wrap = func(whole http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("Range")
			whole.ServeHTTP(w, r)
		})
	}
	_, err := s.store.List(t.Context(), s.Address("f"))
	if !errors.Is(err, errNoRanges) || !strings.Contains(err.Error(), "http.server") {
		t.Errorf("error %v", err)
	}
}

func TestStall(t *testing.T) {
	content := bytes.Repeat([]byte("x"), 100_000)
	s, o := faulty(t, 1, content, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Content-Range", "bytes 0-99999/100000")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(content[:10])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	s.store.options.ReadTimeout = 200 * time.Millisecond
	p := make([]byte, len(content))
	if err := o.ReadAt(t.Context(), p, 0); err != nil || !bytes.Equal(p, content) {
		t.Errorf("error %v", err)
	}
	if n := s.store.Traffic().Retries; n != 1 {
		t.Errorf("%d retries", n)
	}
}

// A document may take longer than the read timeout, as long as bytes come.
func TestSlowDocument(t *testing.T) {
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 8 {
			_, _ = w.Write([]byte("x"))
			_ = http.NewResponseController(w).Flush()
			time.Sleep(100 * time.Millisecond)
		}
	}))
	defer slow.Close()
	s := New(Options{ReadTimeout: 400 * time.Millisecond, RetryFor: time.Millisecond})
	defer s.Close()
	if body, _, err := s.Document(t.Context(), slow.URL+"/list"); err != nil || string(body) != "xxxxxxxx" {
		t.Errorf("%q, %v", body, err)
	}
}

// Headers are for the servers of addresses: another one, to which they redirect, gets none.
func TestHeadersStay(t *testing.T) {
	var elsewhere http.Header
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere = r.Header.Clone()
		http.ServeContent(w, r, "", time.Unix(1e9, 0), strings.NewReader("0123456789"))
	}))
	defer other.Close()
	var here http.Header
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		here = r.Header.Clone()
		http.Redirect(w, r, other.URL+"/signed?sig=SECRET", http.StatusFound)
	}))
	defer first.Close()
	s := New(Options{Headers: http.Header{"Authorization": {"Bearer SECRET"}}})
	defer s.Close()
	found, err := s.List(t.Context(), first.URL+"/f")
	if err != nil || len(found) != 1 || found[0].Size != 10 {
		t.Fatal(found, err)
	}
	if here.Get("Authorization") != "Bearer SECRET" || elsewhere.Get("Authorization") != "" || elsewhere.Get("Range") != "bytes=0-0" {
		t.Errorf("the server of the address got %q, the other %q", here, elsewhere)
	}
	o, err := s.Open(t.Context(), found[0])
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 3)
	if err := o.ReadAt(t.Context(), p, 4); err != nil || string(p) != "456" {
		t.Errorf("%q, %v", p, err)
	}
}

func TestDowngrade(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	defer secure.Close()
	s := New(Options{})
	defer s.Close()
	if _, err := s.List(t.Context(), secure.URL+"/f"); !errors.Is(err, shard.ErrDenied) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that nobody knows: %v", err)
	}
	transport, err := s.transport()
	if err != nil {
		t.Fatal(err)
	}
	transport.TLSClientConfig.RootCAs = secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	if _, err := s.List(t.Context(), secure.URL+"/f"); !errors.Is(err, shard.ErrDenied) || !strings.Contains(err.Error(), "from https to http") {
		t.Errorf("a redirect from https to http: %v", err)
	}
}

func TestOddNames(t *testing.T) {
	s := newSite(t, true)
	for spelled, name := range map[string]string{
		"a%20b": "a b", "a b": "a b", "100%25": "100%", "%ED%95%9C": "한", "한": "한", "a+b": "a+b", "x%23y": "x#y", "q%3Fx": "q?x", "k=v%252Fw": "k=v%2Fw",
		"a;b": "a;b", "a[1]": "a[1]", "%7Bx%7D": "{x}", "a&b=c": "a&b=c",
	} {
		s.Write(t, name, []byte(name))
		found, err := s.store.List(t.Context(), s.Address(spelled))
		if err != nil || len(found) != 1 || found[0].URI != s.Address(spelled) {
			t.Errorf("%q: %v, %v", spelled, found, err)
			continue
		}
		o, err := s.store.Open(t.Context(), found[0])
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, len(name))
		if err := o.ReadAt(t.Context(), p, 0); err != nil || string(p) != name {
			t.Errorf("%q: %q, %v", spelled, p, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	for uri, want := range map[string]string{
		"https://":                          "no host",
		"https:///f":                        "no host",
		"https://user:secret@host/f":        "cannot hold credentials",
		"https://host/f#part":               "%23",
		"https://host/100%/f":               "not a URL",
		"http://127.0.0.1:1/":               "do not list",
		"http://127.0.0.1:1/dir/":           "do not list",
		"http://127.0.0.1:1/dir/*.parquet/": "do not list",
	} {
		s := New(Options{RetryFor: time.Millisecond})
		_, err := s.List(t.Context(), uri)
		if !errors.Is(err, shard.ErrBadURI) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", uri, err)
		}
		_ = s.Close()
	}
}

func TestIdentity(t *testing.T) {
	s := New(Options{})
	for uri, want := range map[string]string{
		"HTTPS://Host:443/A?b": "https://host/A?b", "http://host:80/a": "http://host/a", "https://host:80/a": "https://host:80/a",
	} {
		if got := s.Identity(uri); got != want {
			t.Errorf("%s is %s", uri, got)
		}
	}
}

func TestParseOptions(t *testing.T) {
	o, err := ParseOptions(map[string]string{"http.header.authorization": "Bearer x", "http.proxy": "http://p:1", "http.max-requests": "3"})
	if err != nil || o.Headers.Get("Authorization") != "Bearer x" || o.Proxy != "http://p:1" || o.MaxRequests != 3 {
		t.Errorf("%+v, %v", o, err)
	}
	for name, value := range map[string]string{
		"http.header.a b": "x", "http.header.a": "SECRET\r\nb: c", "http.header.": "x", "http.proxy": "p", "http.max-requests": "0", "http.heder": "x",
	} {
		if _, err := ParseOptions(map[string]string{name: value}); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFillsToTheEnd(t *testing.T) {
	s := newSite(t, true)
	s.Write(t, "f", []byte("0123456789"))
	found, err := s.store.List(t.Context(), s.Address("{f,f}"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	o, err := s.store.Open(t.Context(), found[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := o.ReadAt(t.Context(), make([]byte, 11), 0); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}
