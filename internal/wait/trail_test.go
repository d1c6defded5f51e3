package wait

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestNowIsShared(t *testing.T) {
	var system unix.Timespec
	if err := unix.ClockGettime(clock, &system); err != nil {
		t.Fatal(err)
	}
	if now := Now(); now < system.Nano() || now-system.Nano() > int64(time.Second) {
		t.Errorf("Now is %d, the system's clock was at %d", now, system.Nano())
	}
}

func TestTrailKeepsCauses(t *testing.T) {
	var r Trail
	r.Until(10, Open)
	r.Until(20, Storage)
	r.Until(30, Storage)
	r.Until(30, Decode) // takes no time
	r.Until(45, Decode)
	for _, c := range []struct {
		begin, end int64
		want       Parts
	}{
		{0, 45, Parts{Open: 10, Storage: 20, Decode: 15}},
		{15, 25, Parts{Storage: 10}},
		{-100, 5, Parts{Open: 105}},
		{40, 50, Parts{Decode: 5, HandOver: 5}},
		{60, 70, Parts{HandOver: 10}},
		{30, 30, Parts{}},
	} {
		var p Parts
		if r.Charge(&p, c.begin, c.end); p != c.want {
			t.Errorf("from %d to %d: %v, want %v", c.begin, c.end, p, c.want)
		}
	}
}

// Whatever a trail has, the parts of a wait add up to it.
func TestPartsAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var load, r Trail
		at := int64(0)
		for range rng.IntN(100) {
			at += rng.Int64N(50)
			load.Until(at, Cause(rng.IntN(Causes)))
		}
		begin := rng.Int64N(at + 1)
		r.Until(begin, Open)
		end := begin + rng.Int64N(at+10)
		r.During(&load, begin, end)
		if r.End() != end || len(r.Marks()) > mostMarks {
			t.Fatalf("a trail of %d pieces ends at %d, want %d", len(r.Marks()), r.End(), end)
		}
		var p Parts
		from := rng.Int64N(end + 1)
		until := from + rng.Int64N(2000)
		if r.Charge(&p, from, until); p.Sum() != time.Duration(until-from) {
			t.Fatalf("the parts of a wait from %d to %d add up to %d: %v", from, until, p.Sum(), p)
		}
	}
}

func TestChargeDoesNotAllocate(t *testing.T) {
	var r Trail
	r.Until(10, Open)
	r.Until(20, Storage)
	var p Parts
	if n := testing.AllocsPerRun(100, func() { r.Charge(&p, 5, 30) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestCausesHaveNames(t *testing.T) {
	for c := range Cause(Causes) {
		if got, ok := CauseOf(c.String()); !ok || got != c {
			t.Errorf("cause %d is %q, which is %v, %v", c, c, got, ok)
		}
	}
	if _, ok := CauseOf("consumer"); ok {
		t.Error("no cause has the name consumer")
	}
}

func TestMost(t *testing.T) {
	p := Parts{Storage: 3, Decode: 5}
	if p.Most() != Decode || p.Seconds()["storage"] != 3e-9 || len(p.Seconds()) != 2 {
		t.Errorf("%v: most is %v, seconds %v", p, p.Most(), p.Seconds())
	}
}

// A piece that has not ended has a cause: its own, or that of a trail that is waited for.
func TestOpenPieces(t *testing.T) {
	var owner, load, draw Trail
	owner.Until(10, Room)
	load.Until(5, Room)
	load.Follow(&owner)
	draw.Until(2, Collate)
	draw.Follow(&load)
	at := func(want ...Mark) {
		t.Helper()
		end := want[len(want)-1].End
		if got := draw.At(end); !slices.Equal(got, want) {
			t.Errorf("at %d: %v, want %v", end, got, want)
		}
	}
	at(Mark{2, Collate}, Mark{20, Room})
	owner.Next(Storage)
	at(Mark{2, Collate}, Mark{10, Room}, Mark{20, Storage})
	owner.Until(20, Storage)
	owner.Next(Decode)
	at(Mark{2, Collate}, Mark{10, Room}, Mark{20, Storage}, Mark{30, Decode})
	load.During(&owner, 5, 15) // the owner has given up
	load.Next(Cache)
	at(Mark{2, Collate}, Mark{10, Room}, Mark{15, Storage}, Mark{30, Cache})
	if marks := draw.Marks(); !slices.Equal(marks, []Mark{{2, Collate}}) {
		t.Errorf("the ended pieces are %v", marks)
	}
	draw.Reset()
	draw.Next(Memory)
	at(Mark{40, Memory})
	if empty := (*Trail)(nil); empty.End() != 0 || len(empty.Marks()) != 0 {
		t.Error("a nil trail has pieces")
	}
}

// A probe shows what its load waits for now.
func TestProbeNow(t *testing.T) {
	var r Trail
	p := NewProbe(&r, Decode)
	for i, c := range []struct {
		do   func()
		want Cause
	}{
		{func() {}, Decode},
		{p.Start, Storage},
		{p.Start, Storage},
		{p.End, Storage},
		{p.End, Decode},
		{func() { p.Idle(Cache) }, Cache},
		{p.Start, Storage},
		{func() { p.Idle(Decode) }, Storage},
		{p.Stop, Storage},
	} {
		c.do()
		if marks := r.At(Now() + 1e9); marks[len(marks)-1].Cause != c.want {
			t.Errorf("after %d steps: %v, want %v", i, marks[len(marks)-1].Cause, c.want)
		}
	}
}
