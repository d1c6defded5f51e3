package servertest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An answer is what a client made of one.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error
}

// read sends a signed GET of a range.
func read(t *testing.T, s *S3Server, bucket, key, span, ifMatch string) answer {
	t.Helper()
	req, err := s.request(http.MethodGet, bucket, key, nil, "Range", span, "If-Match", ifMatch)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{status: resp.StatusCode, header: resp.Header, body: body, err: err}
}

// flip flips a bit of the first byte.
func flip(b []byte) []byte {
	b = bytes.Clone(b)
	b[0] ^= 1
	return b
}

func TestServerHTTPProxyRules(t *testing.T) {
	s := S3(t)
	bucket := s.Bucket(t)
	want := pattern(100_000)
	s.Put(t, bucket, "a b", want)
	p := s.Proxy(t)
	via := s.Via(p.Endpoint())
	const span, stale = "bytes=10-50009", `"stale"`
	whole := func(a answer) bool {
		return a.err == nil && a.status == 206 && bytes.Equal(a.body, want[10:50_010]) && a.header.Get("Content-Range") == "bytes 10-50009/100000"
	}
	for _, c := range []struct {
		name    string
		rules   []*Rule
		ifMatch string
		ok      func(a answer) bool
	}{
		{"none", []*Rule{{Match: Listing, Answer: Refusal(500, "InternalError", "")}}, "", whole},
		{"slow down", []*Rule{SlowDown(1)}, "", func(a answer) bool {
			return a.status == 503 && strings.Contains(string(a.body), "<Code>SlowDown</Code>")
		}},
		{"expired", []*Rule{ExpiredToken()}, "", func(a answer) bool { return a.status == 400 && strings.Contains(string(a.body), "ExpiredToken") }},
		{"denied", []*Rule{AccessDenied()}, "", func(a answer) bool { return a.status == 403 }},
		{"cut", []*Rule{CutBody(7, false)}, "", func(a answer) bool { return errors.Is(a.err, io.ErrUnexpectedEOF) && bytes.Equal(a.body, want[10:17]) }},
		{"reset", []*Rule{CutBody(7, true)}, "", func(a answer) bool { return errors.Is(a.err, syscall.ECONNRESET) }},
		{"stall", []*Rule{StallBody(7, 100*time.Millisecond)}, "", whole},
		{"slow first byte", []*Rule{SlowFirstByte(100 * time.Millisecond)}, "", whole},
		{"etag", []*Rule{WrongETag()}, "", func(a answer) bool { return strings.Count(a.header.Get("ETag"), "0") == 32 && len(a.body) == 50_000 }},
		{"total", []*Rule{WrongTotal(5)}, "", func(a answer) bool { return a.header.Get("Content-Range") == "bytes 10-50009/100005" }},
		{"no range", []*Rule{NoRange()}, "", func(a answer) bool { return a.status == 200 && bytes.Equal(a.body, want) }},
		{"no if-match", []*Rule{NoIfMatch()}, stale, whole},
		{"region", OtherRegion("mars-1"), "", func(a answer) bool { return a.status == 301 && a.header.Get("X-Amz-Bucket-Region") == "mars-1" }},
		{"bytes", []*Rule{{Body: flip}}, "", func(a answer) bool { return a.err == nil && bytes.Equal(flip(a.body), want[10:50_010]) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.Use(c.rules...)
			if a := read(t, via, bucket, "a b", span, c.ifMatch); !c.ok(a) {
				t.Errorf("status %d, %d bytes, header %v, error %v", a.status, len(a.body), a.header, a.err)
			}
			if struck := c.rules[0].Struck(); struck != 1 && c.name != "none" {
				t.Errorf("struck %d times", struck)
			}
		})
	}
	p.Use()
	if err := via.do(http.MethodHead, bucket, "a b", nil); err != nil {
		t.Error(err)
	}
	if a := read(t, via, bucket, "a b", span, stale); a.status != 412 {
		t.Errorf("status %d for a stale If-Match without a rule", a.status)
	}
	p.Use(OtherRegion("mars-1")...)
	via.Region = "mars-1"
	if a := read(t, via, bucket, "a b", span, ""); !whole(a) {
		t.Errorf("status %d in the right region", a.status)
	}
}

// TestServerHTTPProxyRecord: requests are recorded in order, with their outcome.
func TestServerHTTPProxyRecord(t *testing.T) {
	s := S3(t)
	bucket := s.Bucket(t)
	s.Put(t, bucket, "k", pattern(1000))
	p := s.Proxy(t)
	via := s.Via(p.Endpoint())
	rule := CutBody(10, false)
	rule.Times = 1
	p.Use(rule)
	for range 3 {
		read(t, via, bucket, "k", "bytes=0-99", "")
	}
	if err := via.answers(); err != nil {
		t.Fatal(err)
	}
	one := Request{Method: "GET", Path: "/" + bucket + "/k", Range: "bytes=0-99", Status: 206, Bytes: 100}
	cut := one
	cut.Hurt, cut.Bytes = true, 10
	want := []Request{cut, one, one, {Method: "GET", Path: "/", Status: 200}}
	got := p.Requests()
	want[3].Bytes = got[len(got)-1].Bytes
	if !slices.Equal(got, want) {
		t.Errorf("requests %+v, want %+v", got, want)
	}
	if count, size := p.Reads(); count != 3 || size != 210 || p.MostInFlight() != 1 {
		t.Errorf("%d reads of %d bytes, %d at once", count, size, p.MostInFlight())
	}
	if p.Forget(); len(p.Requests()) != 0 {
		t.Error("the record is not forgotten")
	}
}

// TestServerHTTPProxyEnds: a body that has fallen silent does not hold the test's end.
func TestServerHTTPProxyEnds(t *testing.T) {
	s := S3(t)
	bucket := s.Bucket(t)
	s.Put(t, bucket, "k", pattern(1000))
	start := time.Now()
	t.Run("within", func(t *testing.T) {
		p := s.Proxy(t)
		p.Use(StallBody(5, time.Hour))
		done := make(chan answer)
		go func() { done <- read(t, s.Via(p.Endpoint()), bucket, "k", "bytes=0-99", "") }()
		for p.MostInFlight() == 0 {
			time.Sleep(time.Millisecond)
		}
		t.Cleanup(func() {
			if a := <-done; a.err == nil {
				t.Errorf("%d bytes and no error", len(a.body))
			}
		})
		t.Cleanup(p.close)
	})
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}
