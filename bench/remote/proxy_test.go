package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// start serves on a loopback port until the test ends, and returns its address.
func start(t *testing.T, serve func(ctx context.Context, l net.Listener) error) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// origin is a server that answers with ranges of text.
func origin(t *testing.T, text string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Host", r.Host)
		http.ServeContent(w, r, "x", time.Time{}, strings.NewReader(text))
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// client keeps connections until the test ends.
func client(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// get asks for a range and returns the body.
func get(t *testing.T, c *http.Client, address, span string) (body string, host string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, "http://"+address+"/bucket/key?x=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "signed.example"
	r.Header.Set("Range", span)
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), resp.Header.Get("X-Host")
}

func TestDelayed(t *testing.T) {
	const latency = 50 * time.Millisecond
	target := origin(t, "0123456789")
	address := start(t, func(ctx context.Context, l net.Listener) error {
		return serveDelayed(ctx, l, target, link{latency: latency})
	})
	c := client(t)
	for range 3 { // on one connection
		begin := time.Now()
		body, host := get(t, c, address, "bytes=2-4")
		if body != "234" || host != "signed.example" {
			t.Errorf("body %q, host %q", body, host)
		}
		if took := time.Since(begin); took < latency {
			t.Errorf("a request took %v, less than the latency of %v", took, latency)
		}
	}
}

// TestDelayedClientGoesAway: a client that leaves in mid-request leaves nothing behind; TestMain
// looks.
func TestDelayedClientGoesAway(t *testing.T) {
	target := origin(t, "0123456789")
	address := start(t, func(ctx context.Context, l net.Listener) error {
		return serveDelayed(ctx, l, target, link{latency: time.Millisecond})
	})
	for _, sent := range []string{"", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, sent); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
}

func TestDelayedWithoutServer(t *testing.T) {
	address := start(t, func(ctx context.Context, l net.Listener) error { return serveDelayed(ctx, l, "127.0.0.1:1", link{}) })
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if b, err := io.ReadAll(c); len(b) > 0 {
		t.Errorf("%q, %v", b, err)
	}
}

func TestLogged(t *testing.T) {
	text := strings.Repeat("0123456789", 100_000)
	target := origin(t, text)
	var log bytes.Buffer
	t.Run("requests", func(t *testing.T) {
		address := start(t, func(ctx context.Context, l net.Listener) error { return serveLogged(ctx, l, target, &log) })
		c := client(t)
		if body, host := get(t, c, address, "bytes=10-500009"); body != text[10:500_010] || host != "signed.example" {
			t.Errorf("%d bytes, host %q", len(body), host)
		}
		get(t, c, address, "bytes=-5")
		get(t, c, address, "bytes=9999999-")
	})
	want := []entry{
		{Range: "bytes=10-500009", Answer: "bytes 10-500009/1000000", Status: 206, Bytes: 500_000},
		{Range: "bytes=-5", Answer: "bytes 999995-999999/1000000", Status: 206, Bytes: 5},
		{Range: "bytes=9999999-", Answer: "bytes */1000000", Status: 416},
	}
	lines := bufio.NewScanner(&log)
	for i, w := range want {
		var e entry
		if !lines.Scan() {
			t.Fatalf("%d entries, want %d", i, len(want))
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if e.Method != "GET" || e.Path != "/bucket/key" || e.Query != "x=1" || e.Range != w.Range || e.Answer != w.Answer || e.Status != w.Status {
			t.Errorf("entry %+v, want %+v", e, w)
		}
		if w.Bytes > 0 && e.Bytes != w.Bytes {
			t.Errorf("%s: %d bytes, want %d", w.Range, e.Bytes, w.Bytes)
		}
	}
}

// TestRate: all connections together get the link's bytes a second.
func TestRate(t *testing.T) {
	text := strings.Repeat("0123456789", 10_000)
	target := origin(t, text)
	const rate = 1 << 20
	address := start(t, func(ctx context.Context, l net.Listener) error { return serveDelayed(ctx, l, target, link{rate: rate}) })
	begin := time.Now()
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			if body, _ := get(t, client(t), address, "bytes=0-99999"); body != text {
				t.Errorf("%d bytes", len(body))
			}
		})
	}
	clients.Wait()
	if took, least := time.Since(begin), 4*100_000*time.Second/rate; took < least {
		t.Errorf("it took %v, at the rate at least %v", took, least)
	}
}
