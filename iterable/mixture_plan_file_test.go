package iterable

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// savedMixture saves the plan of a mixture and reads it again.
func savedMixture(t *testing.T, d *Dataset, world int, o StreamOptions) (*SavedPlan, []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.sfp")
	if err := d.SavePlan(path, world, o); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ReadPlan(path)
	if err != nil {
		t.Fatal(err)
	}
	return p, content
}

// A saved plan of a mixture pins the shards and the order of each source, at another world size and
// memory and when shards were added, and nothing is counted again.
func TestMixturePlanFile(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
	}{
		{"rows", Options{}},
		{"steps of a source", Options{Mixing: Mixing{Batching: shuffle.PerSource}}},
		{"weights in tokens", Options{Mixing: Mixing{WeightsIn: InTokens, Tokens: "tokens"}}},
		{"blocks", Options{Mixing: Mixing{WeightsIn: InTokens}, Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 64}}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := packRows(t, [][]int{{300, 300}, {400}}, randomDocuments(3))
			o := c.o
			o.Sources, o.Seed, o.Shuffle, o.Columns = tokenSources(3, 1), 5, true, []string{"id", "tokens"}
			pinned := o
			o.ShuffleBuffer, o.UnitRows = Size{Rows: 100}, 40
			first := openMixture(t, table.store, o)
			so := StreamOptions{BatchSize: 2, Tail: shuffle.Short}
			saved, content := savedMixture(t, first, 6, so)
			want, err := first.Start(6, so)
			if err != nil {
				t.Fatal(err)
			}
			table.store.Put("data/part-009.parquet", []byte("it came later"))
			pinned.Plan, pinned.Memory, pinned.pruneFrom = saved, 64<<20, 1<<40
			pinned.Events.Counted = func(int64, int64) { t.Error("it counts") }
			second := openMixture(t, table.store, pinned)
			got, err := second.Start(6, so)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s\nwant\n%s, error %v", got.JSON(), want.JSON(), err)
			}
			if _, again := savedMixture(t, second, 6, so); !bytes.Equal(again, content) {
				t.Errorf("saved again it is\n%s, and was\n%s", again, content)
			}
			if p, err := second.Plan(2, StreamOptions{BatchSize: 6}); err != nil || len(p.Sources) != 2 || p.Units == 0 {
				t.Errorf("plan %+v, error %v", p, err)
			}
			if c.o.Pack == nil {
				a, b := mixedSteps(t, first, 6, 1, so), mixedSteps(t, second, 6, 1, so)
				if len(a) == 0 || !slices.EqualFunc(a, b, slices.Equal) {
					t.Error("the order is another one")
				}
			}
			saved.Sources[1].Units = strings.Repeat("0", 16)
			var mismatch *shuffle.MismatchError
			if _, err := second.Start(1, StreamOptions{}); !errors.As(err, &mismatch) || mismatch.Field != "units" || !strings.Contains(err.Error(), `source "long"`) {
				t.Errorf("units cut otherwise: %v", err)
			}
		})
	}
}

// A plan is refused where sources, batching or the unit of weights are others, and where data is
// gone.
func TestMixturePlanFileRefuses(t *testing.T) {
	store := &memstore.Store{}
	o := Options{Sources: mixtureSources(t, store, []int{60, 20}, []float64{1, 1}), Order: Order{Shuffle: true}}
	saved, content := savedMixture(t, openMixture(t, store, o), 1, StreamOptions{})
	o.Plan = saved
	for _, c := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"other names", func(o *Options) { o.Sources = slices.Clone(o.Sources); o.Sources[1].Name = "x" }, `sources must be those that the plan was saved with, ["s0" "s1"], got ["s0" "x"]`},
		{"no sources", func(o *Options) { o.Sources = nil }, `plan is of the sources ["s0" "s1"], and there are none; give them as sources`},
		{"another batching", func(o *Options) { o.Batching = shuffle.PerSource }, `batching must be "stratified" as the plan was saved with, got "per_source"`},
		{"weights in tokens", func(o *Options) { o.WeightsIn, o.Tokens = InTokens, "id" }, `weights_in must be as the plan was saved with: source "s0" has 0 tokens there, and weights are in tokens`},
		{"a plan of one", func(o *Options) { o.Plan = &SavedPlan{Manifest: &shuffle.Manifest{}} }, "plan is of one data set, and sources are several"},
		{"no manifest", func(o *Options) { o.Plan = &SavedPlan{Sources: []SavedSource{{}}, Batching: shuffle.Stratified} }, "plan has no manifest or params of source"},
		{"lanes beside it", func(o *Options) { o.Lanes = 2 }, "lanes is part of the plan"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := o
			c.change(&o)
			if err := o.Validate(); err == nil || !strings.Contains(option.Spelled(err, option.Argument), c.want) {
				t.Errorf("error %v lacks %q", err, c.want)
			}
		})
	}
	for name, edit := range map[string][2]string{
		"edited": {`"lanes":`, `"lanes":1`}, "another batching": {`"batching":"stratified"`, `"batching":"per_source"`}, "a name": {`"name":"s1"`, `"name":"s2"`},
	} {
		t.Run(name, func(t *testing.T) {
			text := planText(t, content)
			edited := strings.Replace(text, edit[0], edit[1], 1)
			if _, err := parsePlan(t, edited); edited == text || err == nil || !strings.Contains(err.Error(), "its hash does not fit") {
				t.Errorf("error %v", err)
			}
		})
	}
	store.Put("s1/part-000.parquet", []byte("other content"))
	listed := *o.Plan
	listed.Sources = slices.Clone(listed.Sources)
	listed.Sources[1].Shards = nil // as in a plan of a version before
	o.Plan = &listed
	_, err := Open(t.Context(), shard.Stores{"mem": store}, nil, o)
	var gone *ManifestError
	if !errors.As(err, &gone) || !strings.Contains(err.Error(), `source "s1"`) {
		t.Errorf("error %v", err)
	}
}
