package gs

import (
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/cloud"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// newStore makes a store that is closed with the test.
func newStore(t testing.TB, o Options) *cloud.Store {
	if o.Getenv == nil {
		o.Getenv = shardtest.Environ(nil)
	}
	return shardtest.Closing(t, New(o))
}

// fixture is a bucket.
type fixture struct {
	server *servertest.GCSServer
	store  *cloud.Store
	bucket string
}

func newFixture(t *testing.T, server *servertest.GCSServer) *fixture {
	return &fixture{server, newStore(t, Options{Endpoint: server.Endpoint, CABundle: server.CA, Anonymous: true}), server.Bucket(t)}
}

func (f *fixture) Store() shard.Store { return f.store }

func (f *fixture) Address(name string) string {
	if name == "" {
		return "gs://" + f.bucket
	}
	return "gs://" + f.bucket + "/" + name
}

func (f *fixture) Write(t testing.TB, name string, content []byte) {
	f.server.Put(t, f.bucket, name, content)
}

func (f *fixture) Remove(t testing.TB, name string) { f.server.Remove(t, f.bucket, name) }

func TestServerSuite(t *testing.T) {
	server := servertest.GCS(t)
	shardtest.Run(t, func(t *testing.T) shardtest.Fixture { return newFixture(t, server) })
}

func TestServerTLS(t *testing.T) {
	f := newFixture(t, servertest.GCSWithTLS(t))
	f.Write(t, "a", []byte("x"))
	if found, err := f.store.List(t.Context(), f.Address("a")); err != nil || len(found) != 1 || found[0].Size != 1 {
		t.Errorf("%v, %v", found, err)
	}
}
