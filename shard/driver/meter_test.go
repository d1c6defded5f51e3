package driver_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// Times count while requests are in flight, those under way included.
func TestMeterTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := driver.NewMeter("s3://b")
		m.Follow(driver.NewWindow(1, 8, 16))
		time.Sleep(time.Hour) // idle
		list := m.Start(t.Context(), driver.ListRequest)
		time.Sleep(time.Second)
		list.End(nil)
		one := m.Start(t.Context(), driver.ReadRequest)
		time.Sleep(time.Second)
		one.Answered()
		one.Answered() // counts once
		two := m.Start(t.Context(), driver.ReadRequest)
		time.Sleep(time.Second)
		one.Took(100)
		one.End(nil)
		one.End(errors.New("it has ended"))
		time.Sleep(time.Second)
		got := m.Traffic()
		want := shard.StoreTraffic{
			Store: "s3://b", Traffic: shard.Traffic{Lists: 1, Reads: 2, ReadBytes: 100, Window: 8},
			Answers: 1, InFlight: 1, Seconds: 5, FirstByteSeconds: 1, BusySeconds: 3,
		}
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		two.End(errors.New("it broke"))
		time.Sleep(time.Hour)
		if after := m.Traffic(); after.Seconds != 5 || after.BusySeconds != 3 || after.InFlight != 0 || after.Errors != 1 {
			t.Errorf("after the end: %+v", after)
		}
	})
}

// A request that is given up has not failed, nor has a look for a name that is not there.
func TestMeterErrors(t *testing.T) {
	broken := errors.New("broken")
	over, cancel := context.WithCancelCause(t.Context())
	cancel(broken)
	stalled, cancel := context.WithCancelCause(t.Context())
	cancel(driver.ErrStalled)
	for i, c := range []struct {
		ctx  context.Context
		kind driver.RequestKind
		err  error
		want int64
	}{
		{t.Context(), driver.ReadRequest, nil, 0},
		{t.Context(), driver.ReadRequest, broken, 1},
		{t.Context(), driver.ReadRequest, shard.ErrNotExist, 1},
		{t.Context(), driver.LookRequest, fmt.Errorf("x: %w", shard.ErrNotExist), 0},
		{t.Context(), driver.LookRequest, shard.ErrDenied, 1},
		{over, driver.ReadRequest, broken, 0},
		{stalled, driver.ReadRequest, broken, 1},
	} {
		m := driver.NewMeter("s3://b")
		r := m.Start(c.ctx, c.kind)
		r.End(c.err)
		if got := m.Traffic().Errors; got != c.want {
			t.Errorf("case %d: %d errors, want %d", i, got, c.want)
		}
	}
}

// The number of places is bounded, whatever the addresses are.
func TestMetersAreFew(t *testing.T) {
	var all driver.Meters
	for i := range 1000 {
		r := all.Of(fmt.Sprintf("s3://bucket-%d", i)).Start(t.Context(), driver.LookRequest)
		r.End(nil)
	}
	by := all.ByStore()
	sum := int64(0)
	for _, one := range by {
		sum += one.Requests()
	}
	if len(by) != 33 || by[0].Store != "s3://*" || sum != 1000 || all.Traffic().Looks != 1000 {
		t.Errorf("%d places, the first is %+v, %d requests", len(by), by[0], sum)
	}
	if m := (*driver.Meter)(nil); m.ByStore() != nil {
		t.Error("a nil meter measures")
	}
}

// A request costs no allocation, with a meter or without.
func TestMeterAllocatesNothing(t *testing.T) {
	ctx := t.Context()
	for _, m := range []*driver.Meter{nil, driver.NewMeter("mem://")} {
		if n := testing.AllocsPerRun(100, func() {
			r := m.Start(ctx, driver.ReadRequest)
			r.Answered()
			r.Took(1)
			r.End(nil)
		}); n > 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

// Pauses between the requests of a read count for the store too.
func TestReadPartsProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var trail wait.Trail
		p := wait.NewProbe(&trail, wait.Cache)
		err := driver.ReadParts(wait.With(t.Context(), p), make([]driver.Part, 2), 2, func(context.Context, driver.Part) error {
			time.Sleep(time.Second) // for a token, or after a fault
			return nil
		})
		time.Sleep(time.Second)
		p.Stop()
		marks := trail.Marks()
		n := len(marks)
		if err != nil || n < 2 || marks[n-2].Cause != wait.Storage || marks[n-1].Cause != wait.Cache || marks[n-1].End-marks[n-2].End != int64(time.Second) {
			t.Errorf("%v, %v", marks, err)
		}
	})
}

func BenchmarkMeter(b *testing.B) {
	m := driver.NewMeter("mem://")
	for b.Loop() {
		r := m.Start(b.Context(), driver.ReadRequest)
		r.Answered()
		r.Took(1)
		r.End(nil)
	}
}
