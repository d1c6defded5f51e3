package iterable

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Fill-in-the-middle is part of the rule, so that states of another one are refused, and blocks are
// not counted once more for it. Each epoch draws other cuts.
func TestFillInTheMiddleIsInTheRule(t *testing.T) {
	table := packRows(t, [][]int{{60, 130}, {40}}, randomDocuments(3))
	index := filepath.Join(t.TempDir(), "index")
	of := func(fim *rule.FillInTheMiddle) *Dataset {
		counted := int64(-1)
		o := Options{
			Order: Order{Tail: shuffle.Short}, Reading: Reading{Columns: []string{"tokens", "id"}}, IndexDir: index,
			Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 40}, Strategy: rule.BestFitSplit, EOS: new(int64(-1)), FIM: fim}},
		}
		o.Events.Counted = func(done, of int64) {
			if counted < 0 {
				counted = done
			}
		}
		d := open(t, table.store, o)
		if fim != nil && counted != 3 {
			t.Errorf("%d of 3 row groups were known at the start", counted)
		}
		return d
	}
	plain, half := of(nil), of(&rule.FillInTheMiddle{Rate: 0.5, Prefix: -2, Middle: -3, Suffix: -4})
	rules := map[string]bool{plain.Rule(): true, half.Rule(): true}
	for _, fim := range []rule.FillInTheMiddle{
		{Rate: 0.25, Prefix: -2, Middle: -3, Suffix: -4},
		{Rate: 0.5, SPMRate: 0.5, Prefix: -2, Middle: -3, Suffix: -4},
		{Rate: 0.5, Prefix: -5, Middle: -3, Suffix: -4},
		{Rate: 0.5, Prefix: -2, Middle: -3, Suffix: -4, Boundaries: []int64{-5}},
	} {
		rules[of(&fim).Rule()] = true
	}
	if len(rules) != 6 {
		t.Errorf("six packings have the rules %v", rules)
	}
	_, state := packedSteps(t, half, 1, 1, StreamOptions{BatchSize: 4}, 1)
	if _, err := plain.Stream(t.Context(), shuffle.Worker{WorldSize: 1, Workers: 1}, StreamOptions{BatchSize: 4, State: &state}); err == nil || !contains(err.Error(), "rule") {
		t.Errorf("a state of another fill-in-the-middle: %v", err)
	}
	epochs, _ := packedSteps(t, half, 1, 1, StreamOptions{BatchSize: 1 << 20, Epochs: 2}, 0)
	if len(epochs) != 2 || slices.Equal(epochs[0], epochs[1]) {
		t.Errorf("%d epochs have the same blocks", len(epochs))
	}
}
