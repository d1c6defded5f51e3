package mem_test

import (
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type fixture struct{ store mem.Store }

func (f *fixture) Store() shard.Store                        { return &f.store }
func (f *fixture) Address(name string) string                { return "mem://" + name }
func (f *fixture) Write(_ testing.TB, name string, b []byte) { f.store.Put(name, b) }
func (f *fixture) Remove(_ testing.TB, name string)          { f.store.Remove(name) }

func TestSuite(t *testing.T) {
	shardtest.Run(t, func(*testing.T) shardtest.Fixture { return &fixture{} })
}
