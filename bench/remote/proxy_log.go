package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// An entry is one request of the log.
type entry struct {
	Method string  `json:"method"`
	Path   string  `json:"path"`
	Query  string  `json:"query,omitempty"`
	Range  string  `json:"range,omitempty"`         // as asked
	Answer string  `json:"content_range,omitempty"` // as answered
	Status int     `json:"status"`
	Bytes  int64   `json:"bytes"`   // of the body, as far as the client took it
	Start  float64 `json:"start"`   // seconds from the proxy's start
	Took   float64 `json:"seconds"` // to the end of the body
}

// A logged is a transport that writes an entry for each request when its response's body is closed.
type logged struct {
	next  http.RoundTripper
	begin time.Time

	mu  sync.Mutex
	out *json.Encoder
}

// serveLogged forwards requests and writes them to out. The Host header stays, because S3's
// signatures cover it.
func serveLogged(ctx context.Context, l net.Listener, target string, out io.Writer) error {
	t := &http.Transport{
		MaxIdleConns: 1024, MaxIdleConnsPerHost: 512, DisableCompression: true,
		WriteBufferSize: 64 << 10, ReadBufferSize: 64 << 10,
	}
	defer t.CloseIdleConnections()
	p := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: target})
			r.Out.Host = r.In.Host
		},
		Transport:  &logged{next: t, begin: time.Now(), out: json.NewEncoder(out)},
		ErrorLog:   log.New(io.Discard, "", 0), // clients may go away
		BufferPool: &buffers{},
	}
	s := &http.Server{Handler: p, ErrorLog: p.ErrorLog}
	closed := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { // requests under way are still written down
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		closed <- errors.Join(s.Shutdown(ctx), s.Close())
	})
	err := s.Serve(l)
	if stop() {
		return err
	}
	return <-closed
}

// RoundTrip passes a request on.
func (t *logged) RoundTrip(r *http.Request) (*http.Response, error) {
	start := time.Now()
	e := entry{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Range: r.Header.Get("Range"), Start: start.Sub(t.begin).Seconds()}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	e.Status, e.Answer = resp.StatusCode, resp.Header.Get("Content-Range")
	resp.Body = &countedBody{ReadCloser: resp.Body, done: func(n int64) {
		e.Bytes, e.Took = n, time.Since(start).Seconds()
		t.mu.Lock()
		defer t.mu.Unlock()
		_ = t.out.Encode(e) // a log on a full disk shows in what reads it
	}}
	return resp, nil
}

// A countedBody reports once how much of it was read.
type countedBody struct {
	io.ReadCloser
	n    int64
	once sync.Once
	done func(n int64)
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.n += int64(n)
	return n, err
}

func (b *countedBody) Close() error {
	b.once.Do(func() { b.done(b.n) })
	return b.ReadCloser.Close()
}

// buffers are kept from request to request.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, 256<<10)
}

func (b *buffers) Put(p []byte) { b.pool.Put(&p) }
