package servertest

import (
	"bytes"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// An HTTPProxy passes requests on to a server as they come, so that signatures hold, makes faults
// by its rules, and records requests. Its methods are safe for concurrent use.
type HTTPProxy struct {
	Addr string // host:port, for clients

	target    *url.URL
	sign      *S3Server // signs requests that a rule has changed, or nil
	server    *http.Server
	transport *http.Transport
	wait      sync.WaitGroup // the server and the answers under way
	done      chan struct{}

	mu       sync.Mutex
	closed   bool
	inFlight int
	rules    []*Rule
	rng      *rand.Rand
	requests []*Request
	most     int
}

// A Request is the record of one request.
type Request struct {
	Method, Path, Query string
	Range               string // the header's value
	Hurt                bool   // a rule struck
	Status              int    // 0 while in progress, or without an answer
	Bytes               int64  // of the body that were passed on
}

// NewHTTPProxy starts a proxy before a server of HTTP, host:port or an http address. It ends with
// the test.
func NewHTTPProxy(t testing.TB, target string) *HTTPProxy {
	t.Helper()
	return newHTTPProxy(t, target, nil)
}

// Proxy starts a proxy before the server that signs requests again when a rule has changed them.
func (s *S3Server) Proxy(t testing.TB) *HTTPProxy {
	t.Helper()
	return newHTTPProxy(t, s.Endpoint, s)
}

func newHTTPProxy(t testing.TB, target string, sign *S3Server) *HTTPProxy {
	t.Helper()
	if !strings.Contains(target, "://") {
		target = "http://" + target
	}
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &HTTPProxy{
		Addr: l.Addr().String(), target: u, sign: sign, done: make(chan struct{}),
		transport: &http.Transport{MaxIdleConnsPerHost: 512, DisableCompression: true},
		rng:       rand.New(rand.NewPCG(1, 2)),
	}
	p.server = &http.Server{Handler: http.HandlerFunc(p.handle), ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: ReadyWithin}
	p.wait.Go(func() { p.server.Serve(l) })
	t.Cleanup(p.close)
	return p
}

// close ends the proxy with its connections, and waits for the answers under way.
func (p *HTTPProxy) close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.done)
	}
	p.mu.Unlock()
	p.server.Close()
	p.wait.Wait()
	p.transport.CloseIdleConnections()
}

// Endpoint is the proxy's address.
func (p *HTTPProxy) Endpoint() string { return "http://" + p.Addr }

// Use replaces the rules. The first that strikes a request is the only one.
func (p *HTTPProxy) Use(rules ...*Rule) {
	for _, r := range rules {
		r.seen.Store(0)
		r.struck.Store(0)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = rules
}

// Requests is the record so far, in the order in which the requests came.
func (p *HTTPProxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Request, len(p.requests))
	for i, r := range p.requests {
		all[i] = *r
	}
	return all
}

// Reads counts the reads of objects and the bytes that were passed on for them.
func (p *HTTPProxy) Reads() (count int, size int64) {
	for _, r := range p.Requests() {
		if isRead(&http.Request{Method: r.Method, URL: &url.URL{Path: r.Path, RawQuery: r.Query}}) {
			count++
			size += r.Bytes
		}
	}
	return count, size
}

// MostInFlight is the largest number of requests that were under way at once.
func (p *HTTPProxy) MostInFlight() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most
}

// InFlight is the number of requests that are under way.
func (p *HTTPProxy) InFlight() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inFlight
}

// Forget empties the record.
func (p *HTTPProxy) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests, p.most = nil, 0
}

// note records a request, and draws the rule that strikes it. The request is under way until leave
// is called, which takes what became of it.
func (p *HTTPProxy) note(r *http.Request) (rule *Rule, leave func(status int, size int64)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		panic(http.ErrAbortHandler)
	}
	p.wait.Add(1)
	p.inFlight++
	p.most = max(p.most, p.inFlight)
	for _, one := range p.rules {
		if one.strikes(r, p.rng.Float64) {
			rule = one
			break
		}
	}
	record := &Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Range: r.Header.Get("Range"), Hurt: rule != nil}
	p.requests = append(p.requests, record)
	var once sync.Once
	return rule, func(status int, size int64) {
		once.Do(func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			record.Status, record.Bytes = status, size
			p.inFlight--
		})
	}
}

func (p *HTTPProxy) handle(w http.ResponseWriter, r *http.Request) {
	rule, leave := p.note(r)
	defer p.wait.Done()
	defer leave(0, 0)
	if rule == nil {
		rule = &Rule{}
	}
	if !p.pause(r, rule.Delay) {
		panic(http.ErrAbortHandler)
	}
	if a := rule.Answer; a != nil {
		for key, values := range a.Header {
			w.Header()[key] = values
		}
		leave(a.Status, int64(len(a.Body)))
		w.WriteHeader(a.Status)
		io.WriteString(w, a.Body)
		return
	}
	resp, err := p.forward(r, rule)
	if err != nil {
		panic(http.ErrAbortHandler) // the server is gone: so is the connection
	}
	defer resp.Body.Close()
	if rule.Header != nil {
		rule.Header(resp)
	}
	for key, values := range resp.Header {
		w.Header()[key] = values
	}
	w.WriteHeader(resp.StatusCode)
	if !p.body(w, r, resp, rule, leave) {
		abort(w, rule.Reset)
	}
}

func (p *HTTPProxy) forward(r *http.Request, rule *Rule) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.RequestURI = ""
	out.URL.Scheme, out.URL.Host = p.target.Scheme, p.target.Host // and r.Host stays: it is signed
	if r.ContentLength == 0 {
		out.Body = http.NoBody
	}
	if rule.Request != nil {
		rule.Request(out)
		if err := p.signAgain(out); err != nil {
			return nil, err
		}
	}
	return p.transport.RoundTrip(out)
}

// signAgain signs a request whose headers have changed.
func (p *HTTPProxy) signAgain(r *http.Request) error {
	if p.sign == nil || r.Header.Get("Authorization") == "" {
		return nil
	}
	for _, name := range []string{"Authorization", "X-Amz-Date", "X-Amz-Security-Token"} {
		r.Header.Del(name)
	}
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	return signer.SignHTTP(r.Context(), aws.Credentials{AccessKeyID: p.sign.Key, SecretAccessKey: p.sign.Secret},
		r, r.Header.Get("X-Amz-Content-Sha256"), "s3", p.sign.Region, time.Now())
}

// body passes the body on, and reports whether the answer may end as one that is whole. It calls
// leave before the last byte or the cut, after which the client may ask for more.
func (p *HTTPProxy) body(w http.ResponseWriter, r *http.Request, resp *http.Response, rule *Rule, leave func(int, int64)) (whole bool) {
	var from io.Reader = resp.Body
	length := resp.ContentLength // -1 if unknown
	if r.Method == http.MethodHead {
		length = 0
	}
	if rule.Body != nil {
		text, err := io.ReadAll(from)
		if err != nil {
			return false
		}
		from = bytes.NewReader(rule.Body(text))
	}
	var n int64
	cut := rule.Cut != nil && rule.Cut(length)
	if cut || rule.Stall > 0 {
		n, _ = io.CopyN(w, from, rule.After)
		http.NewResponseController(w).Flush()
		if cut || !p.pause(r, rule.Stall) {
			leave(resp.StatusCode, n)
			return false
		}
	}
	most, err := io.CopyN(w, from, max(0, length-n-1))
	if err != nil {
		leave(resp.StatusCode, n+most)
		return false
	}
	leave(resp.StatusCode, max(n, length))
	_, err = io.Copy(w, from)
	return err == nil
}

// pause waits, and reports whether the client is still there.
func (p *HTTPProxy) pause(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	select {
	case <-time.After(d):
		return true
	case <-r.Context().Done():
	case <-p.done:
	}
	return false
}

// abort ends the connection of an answer that is not whole.
func abort(w http.ResponseWriter, byReset bool) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if byReset {
		reset(conn)
	} else {
		conn.Close()
	}
}
