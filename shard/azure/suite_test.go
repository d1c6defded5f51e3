package azure

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

// fixture is a container.
type fixture struct {
	server    *servertest.AzureServer
	store     *cloud.Store
	container string
	prefix    string // of addresses
}

func newFixture(t *testing.T, server *servertest.AzureServer) *fixture {
	f := &fixture{server: server, container: server.Container(t)}
	f.store = newStore(t, Options{Account: server.Account, Key: server.Key, Endpoint: server.Endpoint, CABundle: server.CA})
	f.prefix = "az://" + f.container
	return f
}

func (f *fixture) Store() shard.Store { return f.store }

func (f *fixture) Address(name string) string {
	if name == "" {
		return f.prefix
	}
	return f.prefix + "/" + name
}

func (f *fixture) Write(t testing.TB, name string, content []byte) {
	f.server.Put(t, f.container, name, content)
}

func (f *fixture) Remove(t testing.TB, name string) { f.server.Remove(t, f.container, name) }

func TestServerSuite(t *testing.T) {
	server := servertest.Azurite(t)
	shardtest.Run(t, func(t *testing.T) shardtest.Fixture { return newFixture(t, server) })
}

func TestServerSuiteOfDataLake(t *testing.T) {
	server := servertest.Azurite(t)
	shardtest.Run(t, func(t *testing.T) shardtest.Fixture {
		f := newFixture(t, server)
		f.prefix = "abfss://" + f.container + "@" + server.Account + ".dfs.core.windows.net"
		return f
	})
}
