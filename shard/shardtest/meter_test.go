package shardtest_test

import (
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

type meterFixture struct {
	store mem.Store
	meter *shardtest.Meter
}

func (f *meterFixture) Store() shard.Store                        { return f.meter }
func (f *meterFixture) Address(name string) string                { return "mem://" + name }
func (f *meterFixture) Write(_ testing.TB, name string, b []byte) { f.store.Put(name, b) }
func (f *meterFixture) Remove(_ testing.TB, name string)          { f.store.Remove(name) }

func TestMeterPassesOn(t *testing.T) {
	shardtest.Run(t, func(*testing.T) shardtest.Fixture {
		f := &meterFixture{}
		f.meter = shardtest.NewMeter(&f.store)
		return f
	})
}

func TestMeterCounts(t *testing.T) {
	m := &mem.Store{}
	m.Put("a", make([]byte, 100))
	meter := shardtest.NewMeter(m)
	found, err := meter.List(t.Context(), "mem://a")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = meter.List(t.Context(), "mem://b")
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
	want := shardtest.Stats{Lists: 2, Opens: 1, Reads: 2, Views: 1, ReadBytes: 30, ViewBytes: 70, Errors: 2}
	if got := meter.Stats(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
