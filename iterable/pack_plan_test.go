package iterable

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
)

// A plan speaks of the tokens of all row groups, also where this process counted some of them.
func TestPackPlanOfPartlyKnownCounts(t *testing.T) {
	table := packRows(t, [][]int{{100}, {100}}, func(int64) int { return 40 })
	o := Options{
		IndexDir: filepath.Join(t.TempDir(), "index"), Reading: Reading{Columns: []string{"tokens"}},
		Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 100}, Strategy: rule.BestFit}},
	}
	first, err := Open(t.Context(), shard.Stores{"mem": table.store}, []string{"mem://data/part-000.parquet"}, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"half known", "all known"} {
		t.Run(run, func(t *testing.T) {
			p, err := open(t, table.store, o).Plan(1, StreamOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if k := p.Packed; k.Tokens != 8000 || k.Blocks != 100 || k.Utilisation != 0.8 {
				t.Errorf("%+v, want 8000 tokens in 100 blocks", k)
			}
		})
	}
}

// The plans of sources add up; where one does not know its tokens the sum does not.
func TestPackPlansAddUp(t *testing.T) {
	a := &PackPlan{Strategy: "bfd", Size: 10, Blocks: 4, Units: 1, Tokens: 30, Counted: true}
	b := &PackPlan{Strategy: "bfd", Size: 10, Blocks: 6, Units: 2, Tokens: 50, Counted: true}
	if got, want := *a.With(b), (PackPlan{Strategy: "bfd", Size: 10, Blocks: 10, Units: 3, Tokens: 80, Counted: true, Utilisation: 0.8}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	b.Tokens, b.Counted = 0, false
	if got := a.With(b); got.Tokens != 0 || got.Utilisation != 0 || got.Counted || got.Blocks != 10 {
		t.Errorf("%+v", got)
	}
	if a.With(nil) != a || (*PackPlan)(nil).With(a) != a {
		t.Error("a plan and none are not the plan")
	}
}

func TestPackProposals(t *testing.T) {
	full := PackPlan{Strategy: "bfd", Size: 100, Blocks: 100, Units: 2, Tokens: 9900, Utilisation: 0.99}
	with := func(change func(*PackPlan)) PackPlan {
		k := full
		change(&k)
		return k
	}
	for _, c := range []struct {
		name string
		plan PackPlan
		want string // of the only proposal; "" is none
	}{
		{"full blocks", full, ""},
		{"half-empty blocks", with(func(k *PackPlan) { k.Utilisation = 0.5 }), "blocks are 50.0 % full: a unit loses about half a block, and has 50.0 of them; write row groups of at least 2500 tokens (25 blocks)"},
		{"tokens that nothing tells", with(func(k *PackPlan) { k.Tokens, k.Utilisation = 0, 0 }), ""},
		{"dear counting", with(func(k *PackPlan) { k.Counting = 3 << 30 }), "counting blocks reads 3.0 GiB of lists"},
		{"cheap counting", with(func(k *PackPlan) { k.Counting = 1 << 20 }), ""},
		{"full batches", with(func(k *PackPlan) { k.Strategy = "bucket" }), ""},
		{"padded batches", with(func(k *PackPlan) { k.Strategy, k.Utilisation = "bucket", 0.9 }), "10.0 % of the tokens of batches are padding: a row group makes 50.0 batches; write larger row groups"},
		{"sorted rows", with(func(k *PackPlan) { k.Strategy, k.Sorted = "bucket", true }), "rows are sorted by length from file to file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			p := Plan{Packed: &c.plan, PlanTable: PlanTable{Units: 2, Groups: 2}}
			p.proposePacking(func(format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) })
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !contains(got[0], c.want)) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
