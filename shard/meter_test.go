package shard_test

import (
	"context"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

type meterFixture struct {
	store mem.Store
	meter *shard.Meter
}

func (f *meterFixture) Store() shard.Store                        { return f.meter }
func (f *meterFixture) Address(name string) string                { return "mem://" + name }
func (f *meterFixture) Write(_ testing.TB, name string, b []byte) { f.store.Put(name, b) }
func (f *meterFixture) Remove(_ testing.TB, name string)          { f.store.Remove(name) }

func TestMeterPassesOn(t *testing.T) {
	shardtest.Run(t, func(*testing.T) shardtest.Fixture {
		f := &meterFixture{}
		f.meter = shard.NewMeter(&f.store)
		return f
	})
}

func TestMeterCounts(t *testing.T) {
	const delay = 3 * time.Millisecond
	m := &mem.Store{}
	m.Put("a", make([]byte, 100))
	meter := shard.NewMeter(shardtest.NewFaults(m, shardtest.Rule{Delay: delay}))
	found, err := meter.List(t.Context(), "mem://a")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = meter.List(t.Context(), "mem://b")
	before := meter.Stats()
	o, err := meter.Open(t.Context(), found[0])
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	_ = o.ReadAt(t.Context(), make([]byte, 30), 0)
	_ = o.ReadAt(t.Context(), make([]byte, 30), 90)
	_, release, ok, err := shard.View(o, 0, 70)
	if !ok || err != nil {
		t.Fatalf("view: %v, %v", ok, err)
	}
	release()

	got := meter.Stats()
	if got.ListTime < 2*delay || got.OpenTime < delay || got.ReadTime < 3*delay {
		t.Errorf("times %v", got)
	}
	if got.Bytes() != 100 {
		t.Errorf("%d bytes", got.Bytes())
	}
	since := got.Sub(before)
	since.ListTime, since.OpenTime, since.ReadTime = since.ListTime-got.ListTime+before.ListTime, 1, 2
	want := shard.Stats{Opens: 1, Reads: 2, Views: 1, ReadBytes: 30, ViewBytes: 70, OpenTime: 1, ReadTime: 2, Errors: 1}
	if since != want {
		t.Errorf("got %+v, want %+v", since, want)
	}
	const text = "0 lists in 0s, 1 opens in 1ns, 2 reads of 30 bytes and 1 views of 70 bytes in 2ns, 1 errors"
	if since.String() != text {
		t.Errorf("got %q", since)
	}
	if before.Lists != 2 || before.Errors != 1 {
		t.Errorf("before: %+v", before)
	}
}

// strip hides what the objects of a store can do beyond reading.
type strip struct{ shard.Store }

type bare struct{ shard.Object }

func (s strip) Open(ctx context.Context, sh shard.Shard) (shard.Object, error) {
	o, err := s.Store.Open(ctx, sh)
	return bare{o}, err
}

func TestMeterOfBareObject(t *testing.T) {
	m := &mem.Store{}
	m.Put("a", []byte("a"))
	meter := shard.NewMeter(strip{m})
	found, err := meter.List(t.Context(), "mem://a")
	if err != nil {
		t.Fatal(err)
	}
	o, err := meter.Open(t.Context(), found[0])
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if _, _, ok, err := shard.View(o, 0, 1); ok || err != nil {
		t.Fatalf("lends what its object does not: %v, %v", ok, err)
	}
	if s := meter.Stats(); s.Views != 0 || s.Errors != 0 {
		t.Fatalf("counted a view that was none: %v", s)
	}
}
