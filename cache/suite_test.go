package cache

import (
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

// memFixture is a store in memory behind a cache.
type memFixture struct {
	mem    mem.Store
	cached shard.Store
}

func (f *memFixture) Store() shard.Store                        { return f.cached }
func (f *memFixture) Address(name string) string                { return "mem://" + name }
func (f *memFixture) Write(_ testing.TB, name string, b []byte) { f.mem.Put(name, b) }
func (f *memFixture) Remove(_ testing.TB, name string)          { f.mem.Remove(name) }

// warmFixture fills the cache with what is written, except for the smallest shards: of them the
// suite wants to hear that they changed or are gone, which a shard that is held does not need to
// know.
type warmFixture struct {
	memFixture
	cache *Cache
}

func (f *warmFixture) Write(t testing.TB, name string, b []byte) {
	f.mem.Put(name, b)
	if len(b) < 64 {
		return
	}
	shards, err := f.mem.List(t.Context(), f.Address(name))
	if err != nil || len(shards) != 1 {
		return
	}
	if _, err := f.cache.Fill(t.Context(), &f.mem, shards[0], []shard.Span{{N: shards[0].Size}}, nil); err != nil {
		t.Fatal(err)
	}
}

// localFixture is a directory behind a cache.
type localFixture struct {
	shardtest.Directory
	cached shard.Store
}

func (f *localFixture) Store() shard.Store { return f.cached }

func (f *localFixture) Address(name string) string {
	if name == "" {
		return f.Root
	}
	return f.Root + "/" + name
}

func TestSuiteMem(t *testing.T) {
	shardtest.Run(t, func(t *testing.T) shardtest.Fixture {
		f := &memFixture{}
		f.cached = openTest(t, Options{}).Wrap(&f.mem)
		return f
	})
}

func TestSuiteWarm(t *testing.T) {
	shardtest.Run(t, func(t *testing.T) shardtest.Fixture {
		f := &warmFixture{cache: openTest(t, Options{})}
		f.cached = f.cache.Wrap(&f.mem)
		return f
	})
}

func TestSuiteLocal(t *testing.T) {
	shardtest.Run(t, func(t *testing.T) shardtest.Fixture {
		return &localFixture{Directory: shardtest.Directory{Root: t.TempDir()}, cached: openTest(t, Options{}).Wrap(local.New())}
	})
}

// TestSuiteClosed: a closed cache passes everything through.
func TestSuiteClosed(t *testing.T) {
	shardtest.Run(t, func(t *testing.T) shardtest.Fixture {
		c := openTest(t, Options{})
		closeTest(t, c)
		f := &memFixture{}
		f.cached = c.Wrap(&f.mem)
		return f
	})
}
