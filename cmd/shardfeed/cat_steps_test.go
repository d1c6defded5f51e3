package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

// cat prints steps of one source each as a run has them, continues its states, and divides a step
// between ranks.
func TestCatOfStepsOfOneSource(t *testing.T) {
	shop, err := filepath.Abs("../../testdata/shop")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("SHARDFEED_CACHE_DIR", dir)
	sources, saved := filepath.Join(dir, "sources.json"), filepath.Join(dir, "state.json")
	text := fmt.Sprintf(`{"a": {"addresses": [%q], "weight": 3}, "b": {"addresses": [%q]}}`, shop, shop)
	if err := os.WriteFile(sources, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cat := func(more ...string) []string {
		t.Helper()
		args := append([]string{"cat", "--sources", sources, "--columns", "unique_id", "--row-ids", "--epoch-size", "400"}, more...)
		code, out, errs := command(t, args...)
		if code != 0 {
			t.Fatalf("exit %d: %s", code, errs)
		}
		return strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	}
	all := cat("--shuffle", "--batching", "per_source", "--batch-size", "16")
	for step := range slices.Chunk(all, 16) {
		of := func(source int) int {
			return strings.Count(strings.Join(step, "\n"), fmt.Sprintf(`"source":%d`, source))
		}
		if len(step) != 16 || of(0) != 16 && of(1) != 16 {
			t.Fatalf("a step of %d rows, %d of one source and %d of the other", len(step), of(0), of(1))
		}
	}
	saveStepState(t, shop, saved, 3)
	if rest := cat("--state", saved); !slices.Equal(rest, all[48:]) {
		t.Errorf("%d rows after the state, want %d", len(rest), len(all)-48)
	}
	var halves []string
	for rank := range 2 {
		halves = append(halves, cat("--state", saved, "--world-size", "2", "--rank", fmt.Sprint(rank))...)
	}
	if want := slices.Sorted(slices.Values(all[48:])); !slices.Equal(slices.Sorted(slices.Values(halves)), want) {
		t.Errorf("two ranks print %d rows, want those %d", len(halves), len(want))
	}
}

// saveStepState saves the state of a run after so many steps.
func saveStepState(t *testing.T, shop, name string, steps int) {
	t.Helper()
	s := shardfeed.Spec{
		Sources: []shardfeed.Source{{Name: "a", Addresses: []string{shop}, Weight: 3}, {Name: "b", Addresses: []string{shop}, Weight: 1}},
		Order:   shardfeed.Order{Shuffle: true}, Mixing: shardfeed.Mixing{Batching: "per_source", EpochSize: 400}, Columns: []string{"unique_id"}, RowIDs: true,
	}
	d, err := shardfeed.Open(t.Context(), s, shardfeed.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close(t.Context())
	stream, err := d.Stream(t.Context(), shuffle.Worker{WorldSize: 1, Workers: 1}, iterable.StreamOptions{BatchSize: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for range steps {
		draw, err := stream.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		draw.Release()
	}
	if err := stateFile(name).writeState(t.Context(), stream.State()); err != nil {
		t.Fatal(err)
	}
}
