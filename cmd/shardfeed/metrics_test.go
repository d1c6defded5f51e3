package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/internal/engine"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

// served starts serve with these flags until the test's end, and returns its socket.
func served(t *testing.T, flags ...string) (socket string) {
	t.Helper()
	quietHome(t)
	dir, err := os.MkdirTemp("", "sf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket = filepath.Join(dir, "e", "engine.sock")
	ready, told, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}
	root := a.root()
	fd, err := unix.Dup(int(told.Fd())) // serve closes its own
	if err := errors.Join(err, told.Close()); err != nil {
		t.Fatal(err)
	}
	root.SetArgs(append([]string{"serve", "--socket", socket, "--grace", "0", "--ready-fd", strconv.Itoa(fd)}, flags...))
	go func() {
		verb, err := root.ExecuteContextC(ctx)
		ended <- a.finish(context.Background(), verb, err)
	}()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("serve ended with %d", code)
		}
	})
	defer func() { _ = ready.Close() }()
	if err := json.NewDecoder(ready).Decode(&struct{}{}); err != nil {
		t.Fatal(err)
	}
	return socket
}

// A reader is a trainer that reads an epoch whose batches all have a slot.
type reader struct {
	t      *testing.T
	conn   net.Conn
	frames wire.Reader
	opened wire.Opened
}

func readerOf(t *testing.T, socket string, spec wire.Spec) *reader {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	r := &reader{t: t, conn: conn, frames: wire.NewReader(conn)}
	r.send(wire.FrameHello, wire.Hello{Version: wire.Version, PID: os.Getpid(), Job: "a job"})
	r.send(wire.FrameOpen, wire.Open{Dataset: "d", Spec: spec})
	r.until(wire.FrameOpened, &r.opened)
	return r
}

func (r *reader) send(kind wire.FrameKind, v any) {
	r.t.Helper()
	frame, err := wire.AppendMessage(nil, kind, v)
	if err == nil {
		_, err = r.conn.Write(frame)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// until reads up to a frame of a kind, and decodes it.
func (r *reader) until(want wire.FrameKind, v any) {
	r.t.Helper()
	for {
		kind, payload, err := r.frames.Next()
		switch {
		case err != nil:
			r.t.Fatal(err)
		case kind == wire.FrameError:
			r.t.Fatalf("the engine refuses: %s", payload)
		case kind == want && v != nil:
			err = wire.Decode(kind, payload, false, v)
		}
		if err != nil {
			r.t.Fatal(err)
		}
		if kind == want {
			return
		}
	}
}

// epoch reads an epoch of a rank.
func (r *reader) epoch(id string, rank, world int) {
	r.t.Helper()
	r.send(wire.FrameJoin, wire.Join{Iteration: id, Rank: rank, WorldSize: world})
	r.until(wire.FrameEnd, nil)
}

// shopSpec reads the shop in batches that all have a slot.
func shopSpec(t *testing.T) wire.Spec {
	t.Helper()
	dir, err := filepath.Abs(shop)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Spec{Addresses: []string{dir}, BatchSize: 100, Slots: 64, Order: shardfeed.Order{Shuffle: true}}
}

// What an engine serves of a real run follows Prometheus' conventions, and has the run's rows.
func TestMetricsOfRun(t *testing.T) {
	socket := served(t, "--metrics", "127.0.0.1:0")
	r := readerOf(t, socket, shopSpec(t))
	r.epoch("1", 1, 2)
	s, err := engine.Survey(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get(s.Engine.Metrics)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	text, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s, error %v", answer.Status, err)
	}
	for _, want := range []string{`shardfeed_rows_total{rank="1"} 1013`, `shardfeed_batches_total{rank="1"} 11`, "shardfeed_iterations 0", `shardfeed_wait_seconds_total{cause="storage",rank="1"} `} {
		if !strings.Contains(string(text), "\n"+want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	problems, err := promlint.New(strings.NewReader(string(text))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if home, _ := os.UserHomeDir(); strings.Contains(string(text), "/shop") || strings.Contains(string(text), home) {
		t.Errorf("a path is in\n%s", text)
	}
}

// A wrong address is wrong usage, by the flag and by the variable; an address that is taken is
// none.
func TestMetricsAddress(t *testing.T) {
	quietHome(t)
	t.Setenv(metricsVariable, "9464")
	for _, args := range [][]string{{"serve"}, {"serve", "--metrics", "true"}} {
		var message strings.Builder
		if code := run(t.Context(), args, strings.NewReader(""), io.Discard, &message); code != exitUsage || !strings.Contains(message.String(), "127.0.0.1:0 for any free port") {
			t.Errorf("%q: %d, %s", args, code, message.String())
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	t.Setenv(metricsVariable, l.Addr().String())
	if w := readerOf(t, served(t), shopSpec(t)).opened.Warnings; len(w) != 1 || !strings.Contains(w[0], l.Addr().String()) {
		t.Errorf("the trainer hears %q", w)
	}
}

// The trainer's log names the address.
func TestMetricsInfo(t *testing.T) {
	socket := served(t, "--metrics", ":0")
	s, err := engine.Survey(t.Context(), socket)
	if err != nil || !strings.HasPrefix(s.Engine.Metrics, "http://127.0.0.1:") {
		t.Fatalf("URL %q, error %v", s.Engine.Metrics, err)
	}
	if info := readerOf(t, socket, shopSpec(t)).opened.Info; len(info) != 1 || info[0] != "metrics are served at "+s.Engine.Metrics {
		t.Errorf("the trainer hears %q", info)
	}
	other := shopSpec(t)
	other.Seed++
	if info := readerOf(t, socket, other).opened.Info; len(info) != 0 {
		t.Errorf("the second data set's trainer hears %q", info)
	}
}
