package shardfeed

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
	"github.com/shardfeed/shardfeed/table/tabletest"
)

const deltaTable = "testdata/tables/delta/rs"

// writtenIDs are the ids of a version of deltaTable by its writer.
func writtenIDs(t *testing.T, version string) (ids []int64) {
	t.Helper()
	text, err := os.ReadFile(deltaTable + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var versions map[string]tabletest.Written
	if err := json.Unmarshal(text, &versions); err != nil {
		t.Fatal(err)
	}
	at := slices.Index(versions[version].Columns, "id")
	for _, row := range versions[version].Rows {
		var id int64
		if err := json.Unmarshal(row[at], &id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// take reads up to steps batches of a rank, and returns their ids and the state behind them.
func take(t *testing.T, d *Dataset, s Spec, rank, world, steps int, state *shuffle.State) (ids []int64, after shuffle.State) {
	t.Helper()
	o := s.LoaderOptions()
	o.Rank, o.WorldSize, o.State, o.Epochs = rank, world, state, 1
	l, err := loader.New(d.Dataset, o)
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		values, err := column.Values[int64](b.Columns[0])
		if err != nil {
			t.Fatal(err)
		}
		ids, after = append(ids, values...), b.State
		b.Release()
		if steps--; steps == 0 {
			break
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return ids, after
}

func tableSpec(version string) Spec {
	s := Spec{Addresses: []string{"delta+" + deltaTable}, Snapshot: version, Columns: []string{"id"}, BatchSize: 4}
	s.Shuffle, s.Seed, s.Tail = true, 7, shuffle.Carry
	return s
}

// Each row that a version has comes once over three ranks, stopped and continued on two.
func TestTableOverRanks(t *testing.T) {
	t.Setenv(dirVariable, t.TempDir())
	for _, version := range []string{"3", "7", ""} {
		t.Run("version "+version, func(t *testing.T) {
			s := tableSpec(version)
			s.Tail = shuffle.Pad
			d := openSpec(t, s)
			var got []int64
			var state shuffle.State
			for rank := range 3 {
				ids, after := take(t, d, s, rank, 3, 1, nil)
				got, state = append(got, ids...), after
			}
			for rank := range 2 {
				ids, _ := take(t, d, s, rank, 2, 0, &state)
				got = append(got, ids...)
			}
			slices.Sort(got)
			want := writtenIDs(t, map[bool]string{true: "7", false: version}[version == ""])
			if more := len(got) - len(want); more < 0 || more >= 8 { // rows that fill the last step
				t.Errorf("%d rows, want %d", len(got), len(want))
			}
			if got = slices.Compact(got); !slices.Equal(got, want) {
				t.Errorf("ids are %v, want %v", got, want)
			}
		})
	}
}

// A state of another version is refused with the version to give; with it the run continues.
func TestTableOfAnotherVersion(t *testing.T) {
	t.Setenv(dirVariable, t.TempDir())
	s := tableSpec("3")
	_, state := take(t, openSpec(t, s), s, 0, 1, 2, nil)
	if state.Snapshot != "3" {
		t.Errorf("the state is of snapshot %q", state.Snapshot)
	}
	parsed, err := shuffle.ParseState(state.JSON())
	if err != nil || parsed.Snapshot != "3" {
		t.Errorf("read as %q, %v", parsed.Snapshot, err)
	}
	o := s.LoaderOptions()
	o.State = &state
	_, err = loader.New(openSpec(t, tableSpec("")).Dataset, o)
	var wrong *iterable.ManifestError
	if !errors.As(err, &wrong) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"snapshot 7", "snapshot 3", "give Snapshot 3"} {
		if !strings.Contains(wrong.Error(), want) {
			t.Errorf("%q lacks %q", wrong.Error(), want)
		}
	}
	take(t, openSpec(t, tableSpec("3")), s, 0, 1, 0, &state)
}

// A saved plan pins the version and its rows: a start by it opens no log.
func TestTablePlanPins(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(dirVariable, filepath.Join(dir, "cache"))
	copied := filepath.Join(dir, "rs")
	if err := os.CopyFS(copied, os.DirFS(deltaTable)); err != nil {
		t.Fatal(err)
	}
	s := tableSpec("2") // with deleted rows
	s.Tail = shuffle.Short
	s.Addresses = []string{"delta+" + copied}
	d := openSpec(t, s)
	plan := filepath.Join(dir, "plan")
	if err := d.SavePlan(plan, 2, iterable.StreamOptions{BatchSize: 4}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(copied, "_delta_log")); err != nil {
		t.Fatal(err)
	}
	s.Plan, s.Snapshot = plan, ""
	got, state := take(t, openSpec(t, s), s, 0, 1, 0, nil)
	if slices.Sort(got); !slices.Equal(got, writtenIDs(t, "2")) || state.Snapshot != "2" {
		t.Errorf("ids of snapshot %q are %v", state.Snapshot, got)
	}
	s.Snapshot = "5"
	if _, err := Open(context.Background(), s, Events{}); err == nil || !strings.Contains(err.Error(), "which the plan pins") {
		t.Errorf("another version than the plan's: %v", err)
	}
}

// A part, a filter and a rows file choose among the rows that live.
func TestTableRules(t *testing.T) {
	t.Setenv(dirVariable, t.TempDir())
	live := writtenIDs(t, "7")
	s := tableSpec("7")
	s.Tail, s.BatchSize = shuffle.Short, 1000
	s.Filters = "id >= 20"
	want := slices.DeleteFunc(slices.Clone(live), func(id int64) bool { return id < 20 })
	got, _ := take(t, openSpec(t, s), s, 0, 1, 0, nil)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("filter: ids are %v, want %v", got, want)
	}
	s.Filters, s.Parts = "", map[string]float64{"train": 3, "val": 1}
	got = nil
	for _, part := range []string{"train", "val"} {
		s.Part = part
		ids, _ := take(t, openSpec(t, s), s, 0, 1, 0, nil)
		got = append(got, ids...)
	}
	if slices.Sort(got); !slices.Equal(got, live) {
		t.Errorf("parts: ids are %v, want %v", got, live)
	}
}

// What a spec of tables cannot have is refused.
func TestTableRefuses(t *testing.T) {
	t.Setenv(dirVariable, t.TempDir())
	for name, c := range map[string]struct {
		change func(s *Spec)
		want   string
	}{
		"no table":         {func(s *Spec) { s.Addresses = []string{shop} }, "no address names one"},
		"two addresses":    {func(s *Spec) { s.Addresses = append(s.Addresses, shop) }, "must be one address"},
		"unknown snapshot": {func(s *Spec) { s.Snapshot = "77" }, "77"},
	} {
		t.Run(name, func(t *testing.T) {
			s := tableSpec("7")
			c.change(&s)
			d, err := Open(context.Background(), s, Events{})
			if err == nil {
				t.Error(d.Close(context.Background()))
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

// A table is a source of a mixture beside plain files, at a snapshot of its own.
func TestTableInMixture(t *testing.T) {
	t.Setenv(dirVariable, t.TempDir())
	table, plain := tableSpec("3"), t.TempDir()
	writeNumbers(t, filepath.Join(plain, "a.parquet"), 5000)
	s := Spec{Missing: "null", Columns: []string{"id"}, BatchSize: 10, Sources: []Source{
		{Name: "table", Addresses: table.Addresses, Snapshot: "3", Repeat: 1},
		{Name: "plain", Addresses: []string{plain}, Rename: map[string]string{"n": "id"}, Choose: 60},
	}}
	s.Shuffle, s.Tail = true, shuffle.Short
	got, state := take(t, openSpec(t, s), s, 0, 1, 0, nil)
	got = slices.DeleteFunc(got, func(id int64) bool { return id >= 5000 })
	if slices.Sort(got); !slices.Equal(got, writtenIDs(t, "3")) {
		t.Errorf("ids are %v", got)
	}
	if state.Sources[0].Snapshot != "3" || state.Sources[1].Snapshot != "" {
		t.Errorf("snapshots are %q and %q", state.Sources[0].Snapshot, state.Sources[1].Snapshot)
	}
}

// A plan names the snapshot of a table.
func TestPlanOfTable(t *testing.T) {
	spec := Spec{Addresses: []string{"delta+" + deltaTable}, Snapshot: "3", Order: Order{Shuffle: true}}
	ds, err := Open(t.Context(), spec, Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer ds.Close(t.Context())
	if p, err := ds.Plan(1, iterable.StreamOptions{BatchSize: 2}); err != nil || p.Snapshot != "3" {
		t.Errorf("snapshot %q, error %v", p.Snapshot, err)
	}
}

func TestTableWithOneSlash(t *testing.T) {
	for _, kind := range []string{"delta", "iceberg"} {
		t.Run(kind, func(t *testing.T) {
			_, err := Open(t.Context(), Spec{Addresses: []string{kind + "+s3:/b/x"}}, Events{})
			if err == nil || !strings.Contains(err.Error(), "give s3://b/x with two slashes") {
				t.Errorf("got %v", err)
			}
		})
	}
}
