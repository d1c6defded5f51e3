package iterable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A saved plan pins the order: at another world size and memory, and when shards were added.
func TestPlanFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.json")
	stores := files(t, [][]int{{400, 310}, {290}}, noImage)
	first := open(t, stores, Options{Order: Order{Shuffle: true, Seed: 5, UnitRows: 50, Tail: shuffle.Drop}, ShuffleBuffer: Size{Rows: 300}})
	if err := first.SavePlan(path, 6, StreamOptions{BatchSize: 8}); err != nil {
		t.Fatal(err)
	}
	saved, err := ReadPlan(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := first.Start(6, StreamOptions{BatchSize: 8})
	if err != nil {
		t.Fatal(err)
	}
	second := open(t, stores, Options{Order: Order{Shuffle: true, Seed: 5}, Resources: Resources{Memory: 64 << 20}, Plan: saved})
	got, err := second.Start(6, StreamOptions{BatchSize: 8})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	one, err := second.Start(1, StreamOptions{BatchSize: 8, Tail: shuffle.Short})
	if err != nil || one.Params.Lanes != want.Params.Lanes || one.Params.Tail != shuffle.Short {
		t.Errorf("%+v, %v", one.Params, err)
	}
	a, b := rest(t, stream(t, first, shuffle.Worker{WorldSize: 6}, StreamOptions{BatchSize: 8})), rest(t, stream(t, second, shuffle.Worker{WorldSize: 6}, StreamOptions{BatchSize: 8}))
	if len(a) == 0 || !slices.EqualFunc(a, b, func(x, y drawn) bool { return slices.Equal(x.ids, y.ids) }) {
		t.Error("the order is another one")
	}
	var mismatch *shuffle.MismatchError
	if _, err := second.Start(1, StreamOptions{Tail: shuffle.Carry}); !errors.As(err, &mismatch) {
		t.Errorf("carry: %v", err)
	}
	before, err := first.Plan(2, StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := second.Plan(2, StreamOptions{}); err != nil || p.Params.Lanes != want.Params.Lanes || p.Units != before.Units {
		t.Errorf("foretold %+v, %v", p, err)
	}
	saved.Units = "0" + saved.Units[1:]
	if _, err := second.Start(1, StreamOptions{}); !errors.As(err, &mismatch) || mismatch.Field != "units" {
		t.Errorf("units cut otherwise: %v", err)
	}
}

// A plan without shuffle pins the shards.
func TestPlanFileOfFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.json")
	d := open(t, files(t, [][]int{{40}}, noImage), Options{})
	if err := d.SavePlan(path, 1, StreamOptions{}); err != nil {
		t.Fatal(err)
	}
	p, err := ReadPlan(path)
	if err != nil || p.Params != nil || p.Manifest.Content() != d.List().Content() {
		t.Errorf("%+v, %v", p, err)
	}
	if err := d.SavePlan(filepath.Join(path, "no", "directory"), 1, StreamOptions{}); err == nil {
		t.Error("it is written to no directory")
	}
}

func TestPlanFileRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.json")
	d := open(t, files(t, [][]int{{40}}, noImage), Options{Order: Order{Shuffle: true}})
	if err := d.SavePlan(path, 1, StreamOptions{}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b := planText(t, content)
	for name, c := range map[string]struct{ content, want string }{
		"cut":     {b[:len(b)/2], "not a plan of shardfeed"},
		"edited":  {strings.Replace(b, `"lanes":1`, `"lanes":2`, 1), "its hash does not fit"},
		"version": {strings.Replace(b, `"v":1`, `"v":2`, 1), "version 2 is not known"},
		"state":   {`{"v":1,"shuffle":true}`, "its hash does not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(wrong, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadPlan(wrong); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), wrong) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	p, err := ReadPlan(path)
	if err != nil {
		t.Fatal(err)
	}
	beside := Options{
		Plan: p, ShuffleBuffer: Size{Rows: 1}, Order: Order{Lanes: 1, UnitRows: 1, Start: shuffle.Direct, Spread: 1, Assign: shuffle.Sticky, MaxWorldSize: 2},
		Manifest: &SavedManifest{Sources: []SavedShards{{Manifest: p.Manifest}}},
	}.Validate()
	for _, name := range []string{"ShuffleBuffer", "Lanes", "UnitRows", "Start", "Spread", "Assign", "MaxWorldSize", "Manifest"} {
		if beside == nil || !strings.Contains(beside.Error(), name+" is part of the Plan") {
			t.Errorf("%s beside a plan: %v", name, beside)
		}
	}
	if !strings.Contains(beside.Error(), "Shuffle is false, but the Plan was saved with true") {
		t.Errorf("%v", beside)
	}
}

// A plan names its order. No data set is opened with one of another order. One without a name is
// valid.
func TestPlanFileOrder(t *testing.T) {
	table := files(t, [][]int{{40}}, noImage)
	store := &memstore.Store{}
	sources := mixtureSources(t, store, []int{60, 20}, []float64{1, 1})
	for order, c := range map[string]struct {
		d *Dataset
		o Options
	}{
		shuffle.Version:    {open(t, table, Options{Order: Order{Shuffle: true}}), Options{Order: Order{Shuffle: true}}},
		shuffle.Sequential: {open(t, table, Options{}), Options{}},
		shuffle.Mixed:      {openMixture(t, store, Options{Sources: sources, Order: Order{Shuffle: true}}), Options{Sources: sources, Order: Order{Shuffle: true}}},
	} {
		t.Run(order, func(t *testing.T) {
			saved, content := savedPlan(t, c.d)
			if saved.Order != order {
				t.Errorf("the order is %q", saved.Order)
			}
			for _, name := range []string{order, "", "other/1"} {
				p, o := *saved, c.o
				p.Order, o.Plan = name, &p
				err := o.Validate()
				if name != "other/1" {
					if err != nil {
						t.Errorf("named %q: %v", name, err)
					}
					continue
				}
				if want := fmt.Sprintf("for the order %q by another version of shardfeed, and this one makes %q", name, order); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v lacks %q", err, want)
				}
			}
			edited := strings.Replace(planText(t, content), order, "other/1", 1)
			if _, err := parsePlan(t, edited); err == nil || !strings.Contains(err.Error(), "its hash does not fit") {
				t.Errorf("an edited name: %v", err)
			}
		})
	}
}
