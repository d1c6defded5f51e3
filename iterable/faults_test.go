package iterable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/shardtest"
	"github.com/shardfeed/shardfeed/shuffle"
)

// plain hides that the objects of a store lend their bytes, so that every range is a ReadAt.
type plain struct{ shard.Store }

type plainObject struct{ shard.Object }

func (s plain) Open(ctx context.Context, x shard.Shard) (shard.Object, error) {
	o, err := s.Store.Open(ctx, x)
	if err != nil {
		return nil, err
	}
	return plainObject{o}, nil
}

// Delays of any kind, and any number of goroutines, leave the order alone.
func TestOrderKnowsNoTiming(t *testing.T) {
	groups, _ := uneven()
	store := files(t, groups, noImage)
	for _, shuffled := range []bool{true, false} {
		t.Run(fmt.Sprintf("shuffle %t", shuffled), func(t *testing.T) {
			o := Options{Order: Order{Shuffle: shuffled, Seed: 11, Lanes: 4}, ShuffleBuffer: Size{Rows: 120}}
			so := StreamOptions{BatchSize: 9, Epochs: 2}
			want := fmt.Sprint(rest(t, stream(t, open(t, store, o), shuffle.Worker{}, so)))
			for i := range 4 {
				faults := shardtest.NewFaults(plain{store},
					shardtest.Rule{Op: shardtest.OpRead, Path: "/part-002.parquet", Delay: 3 * time.Millisecond, From: 2 + i, Count: 5},
					shardtest.Rule{Op: shardtest.OpRead, Path: "/part-004.parquet", Delay: time.Millisecond, From: 3, Count: 9},
					shardtest.Rule{Op: shardtest.OpOpen, Path: "/part-000.parquet", Delay: 5 * time.Millisecond},
				)
				so.Parallel = 1 + 3*i
				so.Draws = 1 + i
				d := open(t, faults, o)
				if got := fmt.Sprint(rest(t, stream(t, d, shuffle.Worker{}, so))); got != want {
					t.Errorf("shuffle %t, %d goroutines: other order", shuffled, so.Parallel)
				}
			}
		})
	}
}

// A shard that cannot be read ends the stream with one error that names it, after the rows that
// came before.
func TestFaultIsOneError(t *testing.T) {
	groups, _ := uneven()
	store := files(t, groups, noImage)
	broken := errors.New("the cable is out")
	for _, shuffled := range []bool{true, false} {
		t.Run(fmt.Sprintf("shuffle %t", shuffled), func(t *testing.T) {
			want := rest(t, stream(t, open(t, store, Options{Order: Order{Shuffle: shuffled}}), shuffle.Worker{}, StreamOptions{BatchSize: 4}))
			faults := shardtest.NewFaults(plain{store}, shardtest.Rule{Op: shardtest.OpRead, Path: "/part-004.parquet", From: 5, Err: broken})
			d := open(t, faults, Options{Order: Order{Shuffle: shuffled}})
			s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 4})
			var err error
			n := 0
			for ; ; n++ {
				var dr *Draw
				if dr, err = s.Next(t.Context()); err != nil {
					break
				}
				if got := take(t, s, dr); fmt.Sprint(got) != fmt.Sprint(want[n]) {
					t.Fatalf("step %d is %v, want %v", n, got, want[n])
				}
			}
			if !errors.Is(err, broken) || !contains(err.Error(), "part-004.parquet") || contains(err.Error(), "\n") {
				t.Errorf("shuffle %t: error %v", shuffled, err)
			}
			if before := 362 / 4; !shuffled && n < before { // the steps of the shards before it
				t.Errorf("%d steps before the error, want %d", n, before)
			}
			if _, again := s.Next(t.Context()); again != err {
				t.Errorf("then %v", again)
			}
		})
	}
}

// lending is a store that lends bytes by a function.
type lending struct {
	shard.Store
	lend func(o shard.Object, off, n int64) (shard.Lease, error)
}

type lendingObject struct {
	shard.Object
	store lending
}

func (s lending) Open(ctx context.Context, x shard.Shard) (shard.Object, error) {
	o, err := s.Store.Open(ctx, x)
	return lendingObject{o, s}, err
}

func (o lendingObject) Lend(off, n int64) (shard.Lease, error) { return o.store.lend(o.Object, off, n) }

// rotten is a store whose bytes are overwritten after they were lent, the first times, as those of
// a damaged cache file are.
func rotten(store shard.Store, times *atomic.Int64) shard.Store {
	return lending{store, func(_ shard.Object, _, n int64) (shard.Lease, error) {
		if times.Add(-1) >= 0 {
			return lease{bytes: make([]byte, n)}, nil
		}
		return nil, errors.ErrUnsupported // its damage is known now
	}}
}

// stale is a store that finds, the first times, that what it lent is not what it verified.
func stale(store shard.Store, times *atomic.Int64) shard.Store {
	verify := func() error {
		if times.Add(-1) >= 0 {
			return shard.ErrCorrupt
		}
		return nil
	}
	return lending{store, func(o shard.Object, off, n int64) (shard.Lease, error) {
		b := make([]byte, n)
		return lease{b, verify}, o.ReadAt(context.Background(), b, off)
	}}
}

// A lease is bytes that are verified by a function, if at all.
type lease struct {
	bytes  []byte
	verify func() error
}

func (l lease) Bytes() []byte { return l.bytes }

func (l lease) Verify(used shard.Span) error {
	if l.verify == nil || used.N == 0 {
		return nil
	}
	return l.verify()
}

func (lease) Forget(shard.Span) {}
func (lease) Release()          {}

// A block of bytes that changed after their verification is never given out.
func TestLentBytesChange(t *testing.T) {
	groups, _ := uneven()
	store := files(t, groups, noImage)
	var times atomic.Int64
	times.Store(1)
	so := StreamOptions{BatchSize: 9, Parallel: 1}
	d := open(t, stale(store, &times), Options{})
	before := fmt.Sprint(rest(t, stream(t, open(t, store, Options{}), shuffle.Worker{}, so)))
	if got := fmt.Sprint(rest(t, stream(t, d, shuffle.Worker{}, so))); got != before || times.Load() >= 0 {
		t.Errorf("other rows, %d left", times.Load())
	}
	times.Store(1 << 30)
	if got := fmt.Sprint(rest(t, stream(t, d, shuffle.Worker{}, so))); got != before {
		t.Error("other rows where leases always change")
	}
}

// Lent bytes that cannot be decoded are copied, which verifies them first.
func TestLentBytesRot(t *testing.T) {
	groups, _ := uneven()
	store := files(t, groups, noImage)
	so := StreamOptions{BatchSize: 9, Parallel: 1}
	want := fmt.Sprint(rest(t, stream(t, open(t, store, Options{}), shuffle.Worker{}, so)))
	var times atomic.Int64
	d := open(t, rotten(store, &times), Options{})
	times.Store(1)
	if got := fmt.Sprint(rest(t, stream(t, d, shuffle.Worker{}, so))); got != want || times.Load() >= 0 {
		t.Errorf("other rows after rot, %d left", times.Load())
	}
	times.Store(1 << 30)
	if got := fmt.Sprint(rest(t, stream(t, d, shuffle.Worker{}, so))); got != want {
		t.Error("other rows where all leases are rotten")
	}
}

// A shard that is replaced under a running stream is one clear error, never a mixture.
func TestShardChangesUnderTheStream(t *testing.T) {
	store := files(t, [][]int{slices.Repeat([]int{50}, 20), {50}}, func(int64) int { return 3000 }) // more than is read ahead
	d := open(t, store, Options{})
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 5, Parallel: 1})
	dr, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	take(t, s, dr)
	store.Put("data/part-001.parquet", content(t, files(t, [][]int{{50}}, noImage), "data/part-000.parquet"))
	for {
		if dr, err = s.Next(t.Context()); err != nil {
			break
		}
		take(t, s, dr)
	}
	if !errors.Is(err, shard.ErrChanged) || !contains(err.Error(), "part-001.parquet") {
		t.Errorf("error %v", err)
	}
}

// A panic below becomes an error that says where.
func TestPanicIsAnError(t *testing.T) {
	store := files(t, [][]int{{20, 20}, {20, 20}}, noImage)
	below := &panicking{Store: plain{store}}
	d, err := Open(t.Context(), shard.Stores{"mem": below}, []string{"mem://data/"}, Options{}) // what panics may keep what it has
	if err != nil {
		t.Fatal(err)
	}
	below.armed.Store(true)
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 5})
	for err == nil {
		var dr *Draw
		if dr, err = s.Next(t.Context()); err == nil {
			take(t, s, dr)
		}
	}
	var p *PanicError
	if !errors.As(err, &p) || p.Value != "out of paper" || !contains(err.Error(), "part-001.parquet: row group 0") {
		t.Errorf("error %v", err)
	}
}

// panicking is a store of which one shard panics when it is read, once that is armed.
type panicking struct {
	shard.Store
	armed atomic.Bool
}

type panicObject struct {
	shard.Object
	armed *atomic.Bool
}

func (s *panicking) Open(ctx context.Context, x shard.Shard) (shard.Object, error) {
	o, err := s.Store.Open(ctx, x)
	if strings.HasSuffix(x.URI, "part-001.parquet") {
		return panicObject{o, &s.armed}, err
	}
	return o, err
}

func (o panicObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	if o.armed.Load() {
		panic("out of paper")
	}
	return o.Object.ReadAt(ctx, p, off)
}

// A call that was cut short by its ctx takes nothing from the order.
func TestNextGoesOnAfterItsContextEnds(t *testing.T) {
	groups, _ := uneven()
	store := files(t, groups, noImage)
	for _, shuffled := range []bool{true, false} {
		t.Run(fmt.Sprintf("shuffle %t", shuffled), func(t *testing.T) {
			o := Options{Order: Order{Shuffle: shuffled, Lanes: 4}, ShuffleBuffer: Size{Rows: 100}}
			want := rest(t, stream(t, open(t, store, o), shuffle.Worker{}, StreamOptions{BatchSize: 30}))
			faults := shardtest.NewFaults(plain{store}, shardtest.Rule{Op: shardtest.OpRead, Delay: 2 * time.Millisecond})
			s := stream(t, open(t, faults, o), shuffle.Worker{}, StreamOptions{BatchSize: 30})
			var got []drawn
			cut := 0
			for {
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				dr, err := s.Next(ctx)
				cancel()
				if errors.Is(err, context.DeadlineExceeded) {
					cut++
					continue
				}
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, take(t, s, dr))
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("shuffle %t: got\n%v, want\n%v", shuffled, got, want)
			}
			if cut == 0 {
				t.Error("no call was cut short")
			}
		})
	}
}

// An ended ctx stops the stream even where every row is at hand, and takes nothing from the order.
func TestNextOfAnEndedContext(t *testing.T) {
	groups, rows := uneven()
	s := stream(t, open(t, files(t, groups, noImage), Options{Order: Order{Shuffle: true}}), shuffle.Worker{}, StreamOptions{BatchSize: 1})
	first, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	take(t, s, first)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Next(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := rest(t, s); int64(len(got)) != rows-1 {
		t.Errorf("%d steps are left of %d", len(got), rows-1)
	}
	if _, err := s.Next(ended); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

// Draws stay readable after Close; their memory is freed with them.
func TestCloseWithDrawsOut(t *testing.T) { synctest.Test(t, closeWithDrawsOut) }

func closeWithDrawsOut(t *testing.T) {
	groups, _ := uneven()
	d := open(t, files(t, groups, noImage), Options{Order: Order{Shuffle: true}, ShuffleBuffer: Size{Rows: 100}})
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 5, Draws: 3})
	var out []*Draw
	for range 3 {
		dr, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, dr)
	}
	nextWhileClosing(t, s)
	if _, err := s.Next(t.Context()); !errors.Is(err, ahead.ErrClosed) {
		t.Errorf("Next after Close: %v", err)
	}
	if d.options.Budget.Admitted() == 0 {
		t.Error("the reservation was given back while draws are out")
	}
	for i, dr := range out {
		if got := ids(t, d.Schema(), dr); len(got) != 5 {
			t.Errorf("draw %d has %d rows", i, len(got))
		}
		dr.Release()
		dr.Release()
	}
	if n := d.options.Budget.Admitted(); n != 0 {
		t.Errorf("%d bytes stay reserved", n)
	}
}

// nextWhileClosing waits for a draw that cannot come while all are out, until the stream is closed.
func nextWhileClosing(t *testing.T, s *Stream) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := s.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a fourth draw of three: %v", err)
	}
	failed := make(chan error)
	go func() {
		_, err := s.Next(context.Background())
		failed <- err
	}()
	synctest.Wait() // it is inside Next
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := <-failed; !errors.Is(err, ahead.ErrClosed) {
		t.Errorf("Next during Close: %v", err)
	}
}

// A consumer that takes nothing stops the reading; what comes later is complete.
func TestSlowConsumerStopsTheEngine(t *testing.T) {
	d := open(t, pictures(t), Options{Order: Order{Shuffle: true}, ShuffleBuffer: Size{Rows: 500}})
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 8, Draws: 1})
	dr, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var last int64 = -1
	for end := time.Now().Add(time.Minute); last != s.Stats().Units; time.Sleep(30 * time.Millisecond) {
		if last = s.Stats().Units; time.Now().After(end) {
			t.Fatal("it never stops")
		}
	}
	if last > 16 {
		t.Errorf("%d of 24 units were read ahead", last)
	}
	used, reserved := s.account.Used(), s.account.Reserved()
	if used.Total() > reserved.Total() {
		t.Errorf("used %v of %v", used, reserved)
	}
	rows := len(take(t, s, dr).ids)
	for _, x := range rest(t, s) {
		rows += len(x.ids)
	}
	if rows != 3840 {
		t.Errorf("%d rows", rows)
	}
	if used := s.account.Used(); used[mem.Shuffle] != 0 || used[mem.Decode] != 0 {
		t.Errorf("after the last draw: %v", used)
	}
}
