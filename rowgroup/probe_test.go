package rowgroup

import (
	"context"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/shard"
)

// A keptStore has objects that keep copies, as a cache, and take a while to lend them.
type keptStore struct{ shard.Store }

type keptObject struct{ shard.Object }

func (s keptStore) Open(ctx context.Context, sh shard.Shard) (shard.Object, error) {
	o, err := s.Store.Open(ctx, sh)
	return keptObject{o}, err
}

func (keptObject) Discard([]shard.Span) {}

func (o keptObject) Lend(off, n int64) (shard.Lease, error) {
	time.Sleep(5 * time.Millisecond)
	return o.Object.(shard.Lender).Lend(off, n)
}

// A load that borrows bytes waits for the cache if the object keeps copies, else for the store.
func TestFetchProbe(t *testing.T) {
	store, shards := putFiles(t, map[string][]byte{"a.parquet": pagedFile(t, 300)})
	for _, c := range []struct {
		store shard.Store
		want  wait.Cause
	}{{store, wait.Storage}, {keptStore{store}, wait.Cache}} {
		m, err := Open(t.Context(), c.store, shards, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var trail wait.Trail
		p := wait.NewProbe(&trail, wait.Storage)
		begin := wait.Now()
		raw, err := m.Fetch(wait.With(t.Context(), p), Rows{Hi: 300})
		p.Stop()
		if err != nil {
			t.Fatal(err)
		}
		raw.Release()
		var parts wait.Parts
		trail.Charge(&parts, begin, trail.End())
		if parts.Most() != c.want {
			t.Errorf("%T: waited for %v, want %v", c.store, parts.Seconds(), c.want)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
