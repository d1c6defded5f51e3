package s3

import (
	"path"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// optionsOf are what reaches a test's server.
func optionsOf(server *servertest.S3Server) Options {
	return Options{EndpointURL: server.Endpoint, Key: server.Key, Secret: server.Secret, Region: server.Region}
}

// newStore makes a store that is closed with the test.
func newStore(t testing.TB, o Options) *Store {
	s := New(o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// fixture is a bucket.
type fixture struct {
	server         *servertest.S3Server
	store          *Store
	scheme, bucket string
	written        map[string]bool
}

func newFixture(t *testing.T, server *servertest.S3Server, scheme string) *fixture {
	return &fixture{
		server: server, store: newStore(t, optionsOf(server)), scheme: scheme, bucket: server.Bucket(t), written: make(map[string]bool),
	}
}

func (f *fixture) Store() shard.Store { return f.store }

func (f *fixture) Address(name string) string {
	if name == "" {
		return f.scheme + "://" + f.bucket
	}
	return f.scheme + "://" + f.bucket + "/" + name
}

// Write leaves out what lies below a name that is an object: versitygw keeps keys as files and
// cannot have both.
func (f *fixture) Write(t testing.TB, name string, content []byte) {
	if dir, _ := path.Split(name); f.written[strings.TrimSuffix(dir, "/")] {
		return
	}
	f.written[name] = true
	f.server.Put(t, f.bucket, name, content)
}

func (f *fixture) Remove(t testing.TB, name string) { f.server.Remove(t, f.bucket, name) }

func TestServerSuite(t *testing.T) {
	server := servertest.S3(t)
	shardtest.Run(t, func(t *testing.T) shardtest.Fixture { return newFixture(t, server, "s3") })
}
