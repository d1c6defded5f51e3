package iterable

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/shardfeed/shardfeed/shuffle"
)

// Start foretells the state of a stream that has handed out nothing: at an epoch, in its midst, and
// behind its last step.
func TestStart(t *testing.T) {
	for _, shuffled := range []bool{true, false} {
		for _, tail := range []shuffle.Tail{shuffle.Drop, shuffle.Pad, shuffle.Carry} {
			t.Run(fmt.Sprintf("shuffle %t, %s", shuffled, tail), func(t *testing.T) {
				d := open(t, files(t, [][]int{{40, 31}, {29}}, noImage), Options{Order: Order{Shuffle: shuffled, Seed: 7, Tail: tail}})
				run := StreamOptions{BatchSize: 4, Epoch: 2}
				for step := 0; step < 12; step++ {
					s := stream(t, d, shuffle.Worker{WorldSize: 3}, run)
					got, err := d.Start(3, run)
					if err != nil || !reflect.DeepEqual(got, s.State()) {
						t.Fatalf("step %d: %+v, %v, want %+v", step, got, err, s.State())
					}
					draw, err := s.Next(t.Context())
					if err != nil {
						break
					}
					state := draw.State
					draw.Release()
					run = StreamOptions{BatchSize: 4, State: &state}
				}
			})
		}
	}
}

// A state goes on under another tail and world size, and one of other data is refused.
func TestStartOfState(t *testing.T) {
	d := open(t, files(t, [][]int{{40, 31}, {29}}, noImage), Options{Order: Order{Shuffle: true, Tail: shuffle.Drop}})
	first, err := d.Start(2, StreamOptions{BatchSize: 8})
	if err != nil {
		t.Fatal(err)
	}
	first.Position = 48
	got, err := d.Start(1, StreamOptions{BatchSize: 3, State: &first, Tail: shuffle.Short})
	if err != nil || got.Position != 48 || got.GlobalBatch != 3 || got.Params.Tail != shuffle.Short || got.Params.Lanes != first.Params.Lanes {
		t.Errorf("state %+v, %v", got, err)
	}
	first.Manifest = "0" + first.Manifest[1:]
	if _, err := d.Start(1, StreamOptions{State: &first}); err == nil {
		t.Error("a state of other data is taken")
	}
	if _, err := d.Start(0, StreamOptions{}); err == nil {
		t.Error("a world of no ranks is taken")
	}
	if _, err := d.Start(1, StreamOptions{Epoch: -1}); err == nil {
		t.Error("an epoch below 0 is taken")
	}
}

// The limit that is not the user's bounds a stream, and does not change the order.
func TestDefaultMemory(t *testing.T) {
	paths := files(t, [][]int{{4000}, {4000}}, noImage)
	small := open(t, paths, Options{Order: Order{Shuffle: true}, Resources: Resources{DefaultMemory: 1 << 10}})
	large := open(t, paths, Options{Order: Order{Shuffle: true}, Resources: Resources{DefaultMemory: 1 << 30}})
	a, err := small.Start(1, StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := large.Start(1, StreamOptions{})
	if err != nil || *a.Params != *b.Params {
		t.Errorf("orders differ: %v, %v, %v", a.Params, b.Params, err)
	}
	if _, err := small.Stream(t.Context(), shuffle.Worker{}, StreamOptions{}); err == nil {
		t.Error("a stream begins within 1 KiB")
	}
	stream(t, large, shuffle.Worker{}, StreamOptions{})
	if got := large.BatchBytes(100, shuffle.Short, 0); got < 800 || got > 1<<20 {
		t.Errorf("%d bytes foretold for 100 rows", got)
	}
}

// A batch has no more rows than there are, but where Pad or Carry make it of some of them again:
// those add their values alone.
func TestBatchBytesOfFewRows(t *testing.T) {
	few := open(t, files(t, [][]int{{3}}, noImage), Options{Order: Order{Shuffle: true}})
	three := few.BatchBytes(3, shuffle.Short, 0)
	for _, c := range []struct {
		tail        shuffle.Tail
		least, most int64
	}{
		{shuffle.Short, three, three},
		{shuffle.Drop, three, three},
		{shuffle.Pad, three + 10_000*8, three + 10_000*128},
		{shuffle.Carry, three + 10_000*8, three + 10_000*128},
	} {
		t.Run(fmt.Sprint(c.tail), func(t *testing.T) {
			if got := few.BatchBytes(10_000, c.tail, 0); got < c.least || got > c.most {
				t.Errorf("%s: %d bytes foretold for 10,000 rows of 3, %d for 3; want %d to %d", c.tail, got, three, c.least, c.most)
			}
		})
	}
}

// Nor do draws hold more rows than there are, but under Carry, whose steps go on into further
// epochs.
func TestDrawsOfFewRows(t *testing.T) {
	paths := files(t, [][]int{{3}}, noImage)
	for _, c := range []struct {
		tail    shuffle.Tail
		shuffle bool
		admits  bool
	}{
		{shuffle.Short, true, true},
		{shuffle.Short, false, true},
		{shuffle.Pad, true, true},
		{shuffle.Pad, false, true},
		{shuffle.Carry, true, false},
	} {
		t.Run(fmt.Sprint(c.tail), func(t *testing.T) {
			d := open(t, paths, Options{Order: Order{Shuffle: c.shuffle}, Resources: Resources{Memory: 64 << 20}})
			s, err := d.Stream(t.Context(), shuffle.Worker{}, StreamOptions{BatchSize: 1 << 20, Tail: c.tail})
			if err == nil {
				s.Close()
			}
			var over *MemoryError
			if admitted := err == nil; admitted != c.admits || !admitted && !errors.As(err, &over) {
				t.Errorf("%s, shuffle %v: %v", c.tail, c.shuffle, err)
			}
		})
	}
}
