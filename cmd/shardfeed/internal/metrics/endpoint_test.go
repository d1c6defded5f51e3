package metrics

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine"
)

var quiet = slog.New(slog.DiscardHandler)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:9464": "127.0.0.1:9464", ":9464": "127.0.0.1:9464", "0.0.0.0:1": "0.0.0.0:1", "[::]:9464": "[::]:9464", "localhost:0": "localhost:0",
		"": "", "9464": "", "1": "", "true": "", "127.0.0.1": "", "127.0.0.1:http": "", "127.0.0.1:65536": "", "127.0.0.1:": "", "::1:9464": "", "http://127.0.0.1:9464": "",
	} {
		if got, err := ParseAddress(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, error %v", text, got, err)
		}
	}
}

// A lockedLog is written by one goroutine and read by another.
type lockedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func scrape(t *testing.T, url string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	r, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, error %v", url, r.Status, err)
	}
	return string(text)
}

func TestEndpointServes(t *testing.T) {
	e := New("127.0.0.1:0", quiet)
	e.Start(full)
	if e.Trouble() != nil || !strings.HasPrefix(e.URL(), "http://127.0.0.1:") || strings.Contains(e.URL(), ":0/") {
		t.Fatalf("URL %q, trouble %v", e.URL(), e.Trouble())
	}
	text := scrape(t, e.URL())
	for _, want := range []string{`shardfeed_rows_total{rank="3"} 5`, `shardfeed_wait_seconds_total{cause="storage",rank="3"} 2.5`, "go_goroutines"} {
		if !strings.Contains(text, want+"\n") && !strings.Contains(text, want+" ") {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// An address that another has is one warning, and the endpoint takes it when it is free.
func TestEndpointWaitsForItsAddress(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var log lockedLog
	e := New(other.Addr().String(), slog.New(slog.NewTextHandler(&log, nil)))
	e.Start(func() engine.Snapshot { return engine.Snapshot{} })
	defer func() { _ = e.Close() }()
	if e.URL() != "" || e.Trouble() == nil || !strings.Contains(e.Trouble().Error(), other.Addr().String()) || !strings.Contains(e.Trouble().Error(), "SHARDFEED_METRICS") {
		t.Errorf("URL %q, trouble %v", e.URL(), e.Trouble())
	}
	for range 3 {
		if e.listen() != nil {
			t.Fatal("it listens at an address that another has")
		}
	}
	_ = other.Close()
	for end := time.Now().Add(time.Minute); e.URL() == ""; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not take the free address")
		}
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 || e.Trouble() != nil || !strings.Contains(scrape(t, e.URL()), "shardfeed_processors 0") {
		t.Errorf("%d warnings, trouble %v: %s", n, e.Trouble(), log.String())
	}
}

func TestNoEndpoint(t *testing.T) {
	e := New("", nil)
	e.Start(full)
	if err := e.Close(); e != nil || err != nil || e.URL() != "" || e.Trouble() != nil {
		t.Errorf("endpoint %v, error %v", e, err)
	}
}
