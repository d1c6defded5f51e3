package iterable

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
)

// A plan is read through the stores of shards, and what is wrong with it is one error that names
// it.
func TestFetchPlan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan")
	d := open(t, files(t, [][]int{{40, 12}, {9}}, noImage), Options{Order: Order{Shuffle: true}})
	if err := d.SavePlan(path, 1, StreamOptions{}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := ReadPlan(path)
	if err != nil {
		t.Fatal(err)
	}
	store := &memstore.Store{}
	for name, b := range map[string][]byte{
		"run.plan": content, "old.plan": []byte(planText(t, content)), "padded.plan": append(slices.Clone(content), make([]byte, 8<<20)...), "cut.plan": content[:len(content)*2/3],
		"empty.plan": nil, "table/a.parquet": []byte("PAR1 and so on"), "table/b.parquet": []byte("PAR1"),
		"large.parquet": append([]byte("PAR1"), make([]byte, 8<<20)...),
	} {
		store.Put(name, b)
	}
	for name, footers := range map[string]int{"run.plan": 2, "old.plan": 0} {
		got, err := FetchPlan(t.Context(), store, "mem://"+name)
		if err != nil || got.Hash != want.Hash || got.Manifest.Content() != d.List().Content() || len(got.Footers) != footers {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := FetchPlan(t.Context(), store, "mem://none.plan"); !errors.Is(err, shard.ErrNotExist) || !strings.Contains(err.Error(), "mem://none.plan") {
		t.Errorf("absent: %v", err)
	}
	for name, text := range map[string]string{
		"padded.plan": "it was cut short, or more", "cut.plan": "it was cut short, or more", "empty.plan": "it is empty", "table": "it names 2 files",
		"table/a.parquet": "it begins like another kind of file", "large.parquet": "it begins like another kind of file",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := FetchPlan(t.Context(), store, "mem://"+name)
			if wrong := (*PlanError)(nil); !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), "mem://"+name+": not a plan of shardfeed: "+text) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestPlanTooLarge(t *testing.T) {
	store := hugeStore{}
	if _, err := FetchPlan(t.Context(), store, "mem://run.plan"); err == nil || !strings.Contains(err.Error(), "it has more than 4.0 GiB") {
		t.Errorf("%v", err)
	}
}

// hugeStore has one file that is too large, of which it gives nothing.
type hugeStore struct{}

func (hugeStore) Open(context.Context, shard.Shard) (shard.Object, error) { return nothing{}, nil }

type nothing struct{ shard.Object }

func (nothing) Close() error { return nil }

func (hugeStore) List(_ context.Context, pattern string) ([]shard.Shard, error) {
	return []shard.Shard{{URI: pattern, Size: 4<<30 + 1, Version: "1"}}, nil
}
