package hdfs

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

// serverOptions reach a cluster as a user would, without this machine's own settings.
func serverOptions(c *servertest.Cluster) Options {
	return Options{ConfDir: c.ConfDir, User: "root", Getenv: func(string) string { return "" }}
}

// newStore makes a store that ends with the test.
func newStore(t testing.TB, o Options) *Store {
	o.RetryFor = cmp.Or(o.RetryFor, 5*time.Second)
	s := New(o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if n := s.transfer.Open.Load(); n != 0 {
			t.Errorf("%d connections to datanodes were left open", n)
		}
	})
	return s
}

func content(seed uint64, n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = r.Read(b)
	return b
}

// one lists the one shard that an address names.
func one(t testing.TB, s shard.Store, uri string) shard.Shard {
	t.Helper()
	found, err := s.List(t.Context(), uri)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", uri, found, err)
	}
	return found[0]
}

// openOne opens what an address names; the object is closed with the test.
func openOne(t testing.TB, s shard.Store, uri string) shard.Object {
	t.Helper()
	o, err := s.Open(t.Context(), one(t, s, uri))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

// expect reads a range; wrong bytes are worse than errors.
func expect(t testing.TB, o shard.Object, all []byte, off, n int) error {
	t.Helper()
	p := make([]byte, n)
	err := o.ReadAt(t.Context(), p, int64(off))
	if err == nil && !bytes.Equal(p, all[off:off+n]) {
		t.Errorf("WRONG BYTES: %d from byte %d on", n, off)
	}
	return err
}

// fixture is a directory of a cluster.
type fixture struct {
	cluster   *servertest.Cluster
	store     shard.Store
	uri, root string
}

func (f *fixture) Store() shard.Store { return f.store }

func (f *fixture) Address(name string) string {
	return strings.TrimSuffix(f.uri+f.root+"/"+name, "/")
}

func (f *fixture) Write(t testing.TB, name string, content []byte) {
	if name != "d/1/1" { // a directory named like a file
		f.cluster.Put(t, f.root+"/"+name, content)
	}
}

func (f *fixture) Remove(t testing.TB, name string) { f.cluster.Remove(t, f.root+"/"+name) }

// Legal: HDFS takes no colon in a name.
func (f *fixture) Legal(name string) bool { return !strings.Contains(name, ":") }

func TestServerSuite(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{})
	shardtest.Run(t, func(t *testing.T) shardtest.Fixture {
		o := serverOptions(c)
		o.PartSize = 1 << 18
		o.Slots = 4
		o.IdleTimeout = 300 * time.Millisecond
		return &fixture{cluster: c, store: newStore(t, o), uri: "hdfs://", root: c.Dir(t)}
	})
}
