package engine

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shard"
)

// serveWares serves the wares until the test's end, in batches of 16 rows; all is given back by
// then. It returns the socket.
func serveWares(t testing.TB, stores shard.Stores, change func(*Options, *Data)) string {
	t.Helper()
	path := filepath.Join(runtimeDir(t), "engine.sock")
	budget := mem.NewBudget(0)
	o := Options{Budget: budget, Grace: -1, Logger: slog.New(slog.DiscardHandler), Build: "engine build", Log: "/log"}
	d := Data{Loader: loader.Options{BatchSize: 16, Workers: 2}, Slots: 4}
	if change != nil {
		change(&o, &d)
	}
	if o.Open == nil {
		o.Open = func(context.Context, Request, func(wire.Progress)) (*Data, error) {
			d := d
			d.Dataset = openWares(t, stores, budget)
			return &d, nil
		}
	}
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- New(o).Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if n := budget.Admitted(); n != 0 {
			t.Errorf("%d bytes are still reserved", n)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	return path
}

// pair is two ends of a socket.
func pair(t *testing.T) (here, there *net.UnixConn) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(runtimeDir(t), "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if there, err = net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr)); err != nil {
		t.Fatal(err)
	}
	if here, err = l.AcceptUnix(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = here.Close()
		_ = there.Close()
	})
	return here, there
}

// runtimeDir is a directory whose path is short enough for sockets.
func runtimeDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "engine")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func noImages(int64) int { return 10 }

// someLarge are images of which a few are much larger than a slot.
func someLarge(id int64) int {
	switch id {
	case 50, 130:
		return 700_000
	case 99:
		return 3_000_000
	}
	return int(id)
}

var opening = wire.Open{Dataset: "d", Spec: wire.Spec{Addresses: []string{"mem://data/"}}}

// iterate reads an iteration to its end, and returns the batches' ids as text.
func iterate(t testing.TB, c *testClient, schema []wire.Node, keep bool) (ids [][]string, e *wire.End) {
	t.Helper()
	for {
		b, end, err := c.batch()
		if err != nil {
			t.Fatal(err)
		}
		if end != nil {
			return ids, end
		}
		columns, err := b.columns(schema)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, columns[0])
		if !keep {
			if err := c.release(b); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// openAndJoin begins an iteration.
func openAndJoin(t testing.TB, path, iteration string) (*testClient, wire.Joined) {
	t.Helper()
	c := dial(t, path)
	if _, err := c.open(opening); err != nil {
		t.Fatal(err)
	}
	j, err := c.join(wire.Join{Iteration: iteration})
	if err != nil {
		t.Fatal(err)
	}
	return c, j
}

func processorTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// All rows of every epoch arrive as the loader makes them, in one ring.
func TestServe(t *testing.T) {
	stores := wares(t, 3, 70, noImages)
	path := serveWares(t, stores, nil)
	ds := openWares(t, stores, nil)
	defer func() {
		if err := ds.Close(); err != nil {
			t.Error(err)
		}
	}()
	l, err := loader.New(ds, loader.Options{BatchSize: 16, Epochs: 3})
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, path)
	opened, err := c.open(opening)
	if err != nil || opened.Rows != 210 {
		t.Fatalf("%+v, error %v", opened, err)
	}
	var joined wire.Joined
	var end *wire.End
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Step == 0 {
			if joined, err = c.join(wire.Join{Iteration: string('a' + rune(b.Epoch))}); err != nil || joined.Epoch != b.Epoch || joined.Steps != l.Len() {
				t.Fatalf("%+v, error %v", joined, err)
			}
		}
		got, _, err := c.batch()
		if err != nil || got == nil {
			t.Fatalf("epoch %d, step %d: %v", b.Epoch, b.Step, err)
		}
		compareSlot(t, got, joined.Schema, b)
		if err := c.release(got); err != nil {
			t.Fatal(err)
		}
		if b.Step == l.Len()-1 {
			if _, end, err = c.batch(); err != nil || end == nil || end.Left || end.Batches != l.Len() {
				t.Fatalf("%+v, error %v", end, err)
			}
		}
		b.Release()
	}
	if !slices.Equal(c.order, []uint32{0}) {
		t.Errorf("generations %v", c.order)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// Batches that outgrow their slots come in larger ones, and the trainer may keep the old ones.
func TestServeGrowth(t *testing.T) {
	path := serveWares(t, wares(t, 3, 70, someLarge), nil)
	c, j := openAndJoin(t, path, "a")
	seen := map[string]bool{}
	var kept []*clientBatch
	for {
		b, end, err := c.batch()
		if err != nil {
			t.Fatal(err)
		}
		if end != nil {
			break
		}
		if kept = append(kept, b); len(kept) < 3 {
			continue
		}
		columns, err := kept[0].columns(j.Schema)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range columns[0] {
			seen[id] = true
		}
		if err := c.release(kept[0]); err != nil {
			t.Fatal(err)
		}
		kept = kept[1:]
	}
	for _, b := range kept {
		columns, err := b.columns(j.Schema)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range columns[0] {
			seen[id] = true
		}
	}
	if len(seen) != 210 {
		t.Errorf("%d rows", len(seen))
	}
	if len(c.order) < 2 {
		t.Errorf("generations %v: nothing grew", c.order)
	}
}

// rings counts the mappings of rings in this process, in which engine and trainer are.
func rings(t testing.TB) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("no /proc")
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(maps), "memfd:shardfeed")
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// A trainer that dies leaves nothing, wherever it dies; others continue.
func TestServeDeath(t *testing.T) {
	path := serveWares(t, wares(t, 3, 70, noImages), nil)
	other, joined := openAndJoin(t, path, "other")
	had := rings(t)
	for _, batches := range []int{0, 1, 4} {
		c, _ := openAndJoin(t, path, "dies")
		for range batches {
			if _, _, err := c.batch(); err != nil {
				t.Fatal(err)
			}
		}
		c.close()
		eventually(t, "the ring is gone", func() bool { return rings(t) == had })
	}
	if ids, _ := iterate(t, other, joined.Schema, false); len(ids) != int(joined.Steps) {
		t.Errorf("%d batches of %d", len(ids), joined.Steps)
	}
}

// A trainer that keeps all slots, or does not read, stops the engine and costs no processor.
func TestServeStopped(t *testing.T) {
	path := serveWares(t, wares(t, 3, 70, noImages), nil)
	c, j := openAndJoin(t, path, "a")
	var held []*clientBatch
	for range 4 {
		b, _, err := c.batch()
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, b)
	}
	eventually(t, "100 ms pass that take less than 10 ms of the processor", func() bool {
		before := processorTime(t)
		time.Sleep(100 * time.Millisecond)
		return processorTime(t)-before < 10*time.Millisecond
	})
	if c.in.Len() != 0 {
		t.Errorf("%d bytes beyond the credit", c.in.Len())
	}
	for _, b := range held {
		if err := c.release(b); err != nil {
			t.Fatal(err)
		}
	}
	if ids, end := iterate(t, c, j.Schema, false); len(ids) != int(j.Steps)-4 || end.Batches != j.Steps {
		t.Errorf("%d batches more, %+v", len(ids), end)
	}
}

// LEAVE is answered by one END that says so, whatever crossed it.
func TestServeLeave(t *testing.T) {
	path := serveWares(t, wares(t, 3, 70, noImages), nil)
	c := dial(t, path)
	if _, err := c.open(opening); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if i > 0 {
			if _, err := c.join(wire.Join{Iteration: string('a' + rune(i))}); err != nil {
				t.Fatal(err)
			}
		}
		for range min(i, 3) {
			if _, _, err := c.batch(); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.send(wire.FrameLeave, struct{}{}); err != nil {
			t.Fatal(err)
		}
		for left := false; !left; {
			b, end, err := c.batch()
			if err != nil {
				t.Fatal(err)
			}
			left = b == nil && end.Left
		}
		c.releaseAll(t)
	}
}

// What keeps not to the protocol is answered by one ERROR, the end of the connection, and nothing
// else.
func TestServeGarbage(t *testing.T) {
	path := serveWares(t, wares(t, 1, 70, noImages), nil)
	message := func(kind wire.FrameKind, v any) []byte {
		b, err := wire.AppendMessage(nil, kind, v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	random := rand.New(rand.NewPCG(1, 1))
	noise := make([]byte, 4096)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	hello := message(wire.FrameHello, wire.Hello{Version: wire.Version, PID: 1})
	for _, c := range []struct {
		name, kind, want string
		wire             []byte
		opened           bool
	}{
		{"noise", wire.KindProtocol, "", noise, false},
		{"OPEN first", wire.KindProtocol, "OPEN where HELLO", message(wire.FrameOpen, opening), false},
		{"HELLO twice", wire.KindProtocol, "HELLO where HELLO has to be, once", slices.Concat(hello, hello), false},
		{"version 2", wire.KindProtocol, "version 2", message(wire.FrameHello, map[string]any{"version": 2, "news": 1}), false},
		{"unknown option", wire.KindProtocol, `unknown field "sede"`, slices.Concat(hello, message(wire.FrameOpen, map[string]any{"sede": 1})), false},
		{"nothing to open", wire.KindValue, "addresses must name", slices.Concat(hello, message(wire.FrameOpen, wire.Open{Dataset: "d"})), false},
		{"JOIN first", wire.KindProtocol, "JOIN before OPENED", slices.Concat(hello, message(wire.FrameJoin, wire.Join{Iteration: "a"})), false},
		{"OPEN twice", wire.KindProtocol, "a second OPEN", message(wire.FrameOpen, opening), true},
		{"an engine's frame", wire.KindProtocol, "a trainer sends no JOINED", message(wire.FrameJoined, wire.Joined{}), true},
		{"an unknown frame", wire.KindProtocol, "frame of kind 99", message(99, struct{}{}), true},
		{"a RELEASE with a payload", wire.KindProtocol, "RELEASE has 4 bytes, not 0", append(wire.AppendFrame(nil, wire.FrameRelease, 4), 1, 2, 3, 4), true},
		{"noise in an iteration", wire.KindProtocol, "", slices.Concat(message(wire.FrameJoin, wire.Join{Iteration: "n"}), noise), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.wire = append(c.wire, message(wire.FrameAsk, wire.Ask{})...) // must not be answered
			cl := dial(t, path)
			if c.opened {
				if _, err := cl.open(opening); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := cl.conn.Write(c.wire); err != nil {
				t.Fatal(err)
			}
			failures := 0
			for {
				kind, payload, err := cl.next()
				if err != nil {
					if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
						t.Errorf("%s: the end is %v", c.name, err)
					}
					break
				}
				if failures > 0 {
					t.Errorf("%s: %v after ERROR", c.name, kind)
				}
				if kind == wire.FrameError {
					failures++
					if text := string(payload); !strings.Contains(text, `"kind":"`+c.kind+`"`) || !strings.Contains(strings.ReplaceAll(text, `\`, ""), c.want) {
						t.Errorf("%s: %s", c.name, payload)
					}
				}
			}
			if failures != 1 {
				t.Errorf("%s: %d ERRORs", c.name, failures)
			}
			cl.close()
		})
	}
	c, j := openAndJoin(t, path, "after all that")
	if ids, _ := iterate(t, c, j.Schema, false); len(ids) != int(j.Steps) {
		t.Errorf("%d batches", len(ids))
	}
}

// A refused request is not the end of its connection.
func TestServeRefusal(t *testing.T) {
	path := serveWares(t, wares(t, 1, 70, noImages), nil)
	c := dial(t, path)
	if _, err := c.open(opening); err != nil {
		t.Fatal(err)
	}
	var f *wire.Failure
	if _, err := c.join(wire.Join{Iteration: "a", Rank: 3, WorldSize: 2}); !errors.As(err, &f) || f.Kind != wire.KindValue {
		t.Errorf("rank 3 of 2: %v", err)
	}
	if err := c.send(wire.FrameEpoch, wire.SetEpoch{Epoch: -1, Serial: "s"}); err != nil {
		t.Fatal(err)
	}
	if err := c.ask(wire.FrameSession, &wire.Session{}); !errors.As(err, &f) || f.Kind != wire.KindValue {
		t.Errorf("epoch -1: %v", err)
	}
	if err := c.send(wire.FrameAsk, wire.Ask{WorldSize: 1}); err != nil {
		t.Fatal(err)
	}
	if err := c.ask(wire.FrameSession, &wire.Session{}); err != nil {
		t.Error(err)
	}
}

// What does not fit a frame is an error and not silence.
func TestServeTooMuch(t *testing.T) {
	here, there := pair(t)
	side, err := newSender(here, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		newConnection(side, wire.Welcome{}, testLimits(), newMeetings(), deskFunc(func(context.Context, wire.Hello, wire.Open, func(wire.Progress)) (handler, wire.Opened, error) {
			return quiet{}, wire.Opened{Manifest: strings.Repeat("x", wire.MaxPayload)}, nil
		})).serve(t.Context())
	}()
	c := &testClient{conn: there, rings: map[uint32]*clientRing{}, held: map[uint64]*clientBatch{}}
	defer c.close()
	if _, err := c.open(opening); err == nil || !strings.Contains(err.Error(), "OPENED takes 167") {
		t.Errorf("error %v", err)
	}
	if _, _, err := c.next(); !errors.Is(err, io.EOF) {
		t.Errorf("after ERROR: %v", err)
	}
	<-served
}

// The engine ends after its last trainer, not before, and at once when it is told to.
func TestServeEnds(t *testing.T) {
	stores := wares(t, 1, 70, noImages)
	dir := runtimeDir(t)
	o := Options{Grace: 300 * time.Millisecond, Open: func(context.Context, Request, func(wire.Progress)) (*Data, error) {
		return &Data{Dataset: openWares(t, stores, nil), Loader: loader.Options{BatchSize: 16}}, nil
	}}
	serve := func(ctx context.Context, path string) (*Server, chan error) {
		l, err := Listen(path)
		if err != nil {
			t.Fatal(err)
		}
		s, served := New(o), make(chan error, 1)
		go func() { served <- s.Serve(ctx, l) }()
		return s, served
	}
	path := filepath.Join(dir, "a.sock")
	server, served := serve(t.Context(), path)
	stays := func() {
		t.Helper()
		server.expire(func(err error) { t.Errorf("ended with a trainer connected: %v", err) }) // as the timer does
	}
	first, _ := openAndJoin(t, path, "a")
	stays()
	first.close()
	second, _ := openAndJoin(t, path, "b") // within the grace period
	stays()
	second.close()
	began := time.Now()
	if err := <-served; err != nil || time.Since(began) < 100*time.Millisecond {
		t.Errorf("ended after %v, error %v", time.Since(began), err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	_, served = serve(ctx, path)
	third, _ := openAndJoin(t, path, "c")
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	for {
		_, _, err := third.batch()
		var f *wire.Failure
		if errors.As(err, &f) && strings.Contains(f.Text, "the engine ends") {
			break
		}
		if err != nil {
			t.Fatalf("a trainer of an engine that ends is told %v", err)
		}
	}
	if _, _, err := third.batch(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last frame: %v", err)
	}
}

// A trainer that ends while its data set opens stops that. A slow opening delays no other.
func TestServeOpening(t *testing.T) {
	began, ended := make(chan struct{}), make(chan error)
	path := serveWares(t, nil, func(o *Options, _ *Data) {
		o.Open = func(ctx context.Context, r Request, progress func(wire.Progress)) (*Data, error) {
			if r.Spec.Seed == 1 {
				return nil, errors.New("no such luck")
			}
			close(began)
			for ctx.Err() == nil {
				progress(wire.Progress{Shards: 3, Doing: "footers"})
				time.Sleep(time.Millisecond)
			}
			ended <- ctx.Err()
			return nil, ctx.Err()
		}
	})
	slow := dial(t, path)
	if err := slow.send(wire.FrameHello, wire.Hello{Version: wire.Version}); err != nil {
		t.Fatal(err)
	}
	if err := slow.send(wire.FrameOpen, opening); err != nil {
		t.Fatal(err)
	}
	<-began
	quick := dial(t, path)
	if _, err := quick.open(wire.Open{Dataset: "d", Spec: wire.Spec{Addresses: []string{"x"}, Order: shardfeed.Order{Seed: 1}}}); err == nil || !strings.Contains(err.Error(), "no such luck") {
		t.Errorf("error %v", err)
	}
	var p wire.Progress
	if err := slow.ask(wire.FrameWelcome, &struct{}{}); err != nil {
		t.Fatal(err)
	}
	if kind, payload, err := slow.next(); err != nil || kind != wire.FrameProgress || wire.Decode(kind, payload, true, &p) != nil || p.Shards != 3 {
		t.Errorf("%v %s, error %v", kind, payload, err)
	}
	slow.close()
	if err := <-ended; err == nil {
		t.Error("opening went on")
	}
}

// A connection that says nothing is not waited for.
func TestServeWithoutTrainers(t *testing.T) {
	path := serveWares(t, wares(t, 1, 70, noImages), nil)
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	silent := dial(t, path)
	other, j := openAndJoin(t, path, "a")
	if ids, _ := iterate(t, other, j.Schema, false); len(ids) != int(j.Steps) {
		t.Errorf("%d batches", len(ids))
	}
	silent.close()
}
