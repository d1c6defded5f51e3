package webhdfs

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

// newStore returns a store that ends with the test.
func newStore(t testing.TB, o Options) *Store {
	o.RetryFor = cmp.Or(o.RetryFor, 5*time.Second)
	s := New(o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// content returns n bytes that depend on their place.
func content(n int) []byte {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// find lists an address that names one shard.
func find(t testing.TB, s *Store, uri string) shard.Shard {
	t.Helper()
	all, err := s.List(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 {
		t.Fatalf("%s names %d shards", uri, len(all))
	}
	return all[0]
}

// open opens the one shard of an address.
func open(t testing.TB, s *Store, uri string) shard.Object {
	t.Helper()
	o, err := s.Open(t.Context(), find(t, s, uri))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() })
	return o
}

// expect reads a range and compares it.
func expect(t testing.TB, o shard.Object, all []byte, off, n int) {
	t.Helper()
	p := make([]byte, n)
	if err := o.ReadAt(t.Context(), p, int64(off)); err != nil {
		t.Fatalf("%d bytes from byte %d on: %v", n, off, err)
	}
	if !bytes.Equal(p, all[off:off+n]) {
		t.Fatalf("%d bytes from byte %d on are wrong", n, off)
	}
}

// fixture is a directory of a cluster.
type fixture struct {
	store   *Store
	cluster *servertest.Cluster
	prefix  string // of addresses
	dir     string
}

func newFixture(t *testing.T, o Options) *fixture {
	c := servertest.HDFS(t, servertest.HDFSOptions{})
	return &fixture{store: newStore(t, o), cluster: c, prefix: "webhdfs://" + c.HTTP[0], dir: c.Dir(t)}
}

func (f *fixture) Store() shard.Store { return f.store }

func (f *fixture) Address(name string) string {
	if name == "" {
		return f.prefix + f.dir
	}
	return f.prefix + f.dir + "/" + name
}

func (f *fixture) Write(t testing.TB, name string, content []byte) {
	if name == "d/1/1" {
		return // a directory named like a file
	}
	var options []string
	if len(content) < 1000 {
		options = append(options, "replication=1") // quicker, where there are many files
	}
	f.cluster.Put(t, f.dir+"/"+name, content, options...)
}

func (f *fixture) Remove(t testing.TB, name string) { f.cluster.Remove(t, f.dir+"/"+name) }

// Legal: HDFS takes no colon in a name.
func (f *fixture) Legal(name string) bool { return !strings.Contains(name, ":") }

func TestServerSuite(t *testing.T) {
	shardtest.Run(t, func(t *testing.T) shardtest.Fixture { return newFixture(t, Options{}) })
}
