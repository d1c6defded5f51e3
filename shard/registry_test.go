package shard_test

import (
	"context"
	"errors"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/all"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

func TestStoresChoose(t *testing.T) {
	one, two := &mem.Store{}, &mem.Store{}
	one.Put("a", []byte("1"))
	two.Put("a", []byte("22"))
	// The scheme's store is asked, whatever it serves.
	s := shard.Stores{"mem": one, "two": shardtest.NewFaults(two, shardtest.Rule{Op: shardtest.OpList})}
	found, err := s.List(t.Context(), "MEM://a")
	if err != nil || len(found) != 1 || found[0].Size != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	o, err := s.Open(t.Context(), found[0])
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if _, err := s.List(t.Context(), "two://a"); err == nil {
		t.Fatal("the other store was not asked")
	}
	if s["two"].(*shardtest.Faults).Struck(0) != 1 {
		t.Fatal("the other store was not asked")
	}
}

// TestIdentityPassesOn: what stands between a reader and a driver lets its opinion through.
func TestIdentityPassesOn(t *testing.T) {
	t.Chdir(t.TempDir())
	want := shard.Identity(local.Store{}, "a")
	for name, store := range map[string]shard.Store{
		"stores": all.Stores(all.Options{}),
		"faults": shardtest.NewFaults(local.Store{}),
		"both":   shardtest.NewFaults(shardtest.NewFaults(all.Stores(all.Options{}))),
	} {
		t.Run(name, func(t *testing.T) {
			if got := shard.Identity(store, "./x/../a"); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
	if got := shard.Identity(&mem.Store{}, "MEM://a/./b"); got != "mem://a/./b" {
		t.Errorf("without an opinion: %s", got)
	}
}

func TestStoresUnknown(t *testing.T) {
	for _, c := range []struct {
		stores    shard.Stores
		uri, want string
	}{
		{nil, "s3://b", "s3://b: list: bad address: this program has no store for s3://, only for nothing"},
		{shard.Stores{"mem": nil}, "a", "a: list: bad address: this program has no store for bare paths, only for mem://"},
		{shard.Stores{"": local.Store{}, "file": local.Store{}, "mem": nil}, "hdfs://n/a", "hdfs://n/a: list: bad address: this program has no store for hdfs://, only for bare paths, file://, mem://"},
		{shard.Stores{"mem": nil}, "thrift://h:9083/db.t", "thrift://h:9083/db.t: list: bad address: this program has no store for thrift://, only for mem://; a table of a Hive metastore is hive://HOST:PORT/DATABASE.TABLE"},
		{shard.Stores{"mem": nil}, "oss://b/k", "oss://b/k: list: bad address: this program has no store for oss://, only for mem://; a store that speaks S3 is s3://BUCKET/PATH, with its endpoint"},
	} {
		_, err := c.stores.List(t.Context(), c.uri)
		if !errors.Is(err, shard.ErrBadURI) || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
		if _, err := c.stores.Open(t.Context(), shard.Shard{URI: c.uri}); !errors.Is(err, shard.ErrBadURI) {
			t.Errorf("open: %v", err)
		}
		if got := c.stores.Identity(c.uri); got != c.uri {
			t.Errorf("identity %q", got)
		}
	}
}

// closes is a store that counts what the registry asks of it.
type closes struct {
	*mem.Store
	closed int
	err    error
}

func (c *closes) Close() error           { c.closed++; return c.err }
func (c *closes) Parallel(string) int    { return 7 }
func (c *closes) Traffic() shard.Traffic { return shard.Traffic{Reads: 3, Window: 5} }
func (c *closes) ByStore() []shard.StoreTraffic {
	return []shard.StoreTraffic{{Store: "closes://", Traffic: c.Traffic()}}
}

func (c *closes) Place(context.Context, shard.Shard) (shard.Placement, error) {
	return shard.Placement{BlockSize: 9}, nil
}

func (c *closes) Explain(context.Context, string) ([]shard.Fact, error) {
	return []shard.Fact{{Name: "user", Value: "alice"}}, nil
}

// TestStoresOptional: what a store can do beyond the contract is reached through its scheme, and a
// store that two schemes share counts once.
func TestStoresOptional(t *testing.T) {
	c, failed := &closes{Store: &mem.Store{}}, errors.New("lost")
	other := &closes{Store: &mem.Store{}, err: failed}
	s := shard.Stores{"a": c, "b": c, "other": other, "": local.Store{}}
	if n := s.Parallel("a://x"); n != 7 {
		t.Errorf("%d reads at once, want 7", n)
	}
	if n := shardtest.NewFaults(s).Parallel("/x") + s.Parallel("none://x"); n != 0 {
		t.Errorf("%d reads at once for stores without an opinion", n)
	}
	if got := s.Traffic(); got.Reads != 6 || got.Window != 5 {
		t.Errorf("traffic %+v", got)
	}
	if got := s.ByStore(); len(got) != 2 || got[0].Store != "closes://" || got[1].Reads != 3 {
		t.Errorf("by store %+v", got)
	}
	if p, err := s.Place(t.Context(), shard.Shard{URI: "b://x"}); err != nil || p.BlockSize != 9 {
		t.Errorf("placement %+v, %v", p, err)
	}
	if _, err := s.Place(t.Context(), shard.Shard{URI: "/x"}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("placement of a local file: %v", err)
	}
	if facts, err := s.Explain(t.Context(), "a://x"); err != nil || len(facts) != 1 {
		t.Errorf("facts %v, %v", facts, err)
	}
	if err := s.Close(); !errors.Is(err, failed) || c.closed != 1 || other.closed != 1 {
		t.Errorf("closed %d and %d times: %v", c.closed, other.closed, err)
	}
}
