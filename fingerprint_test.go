package shardfeed

import (
	"maps"
	"strings"
	"testing"
)

// Ranks agree on values, however they were given, and differ by the last byte of a long one.
func TestChosenValues(t *testing.T) {
	chosen := func(s Spec) map[string]string { return (&Dataset{spec: s}).Chosen() }
	tokens, long := map[string]int{"t": 8}, strings.Repeat("x > 1 or ", 100)
	for name, same := range map[string][2]Spec{
		"defaults of a packing": {{Pack: &Pack{Columns: tokens}}, {Pack: &Pack{Columns: tokens, Strategy: "wrapped", Length: "n"}}},
		"defaults of a bucket":  {{Bucket: &Bucket{Columns: tokens}}, {Bucket: &Bucket{Columns: tokens, Multiple: 1}}},
		"an empty map":          {{}, {Choice: Choice{Parts: map[string]float64{}}}},
		"names of files": {
			{Choice: Choice{Rows: "a.rows"}, Sources: []Source{{Name: "a", Addresses: []string{"/a"}, Choice: Choice{Rows: "b.rows"}}}},
			{Choice: Choice{Rows: "b.rows"}, Sources: []Source{{Name: "a", Addresses: []string{"/b"}, Choice: Choice{Rows: "a.rows"}, Weight: 2}}},
		},
	} {
		if a, b := chosen(same[0]), chosen(same[1]); !maps.Equal(a, b) {
			t.Errorf("%s: %v and %v", name, a, b)
		}
	}
	for field, differ := range map[string][2]Spec{
		"Filters": {{Choice: Choice{Filters: long + "x < 1"}}, {Choice: Choice{Filters: long + "x < 2"}}},
		"Parts":   {{Choice: Choice{Parts: map[string]float64{"a": 9, "b": 1}}}, {Choice: Choice{Parts: map[string]float64{"a": 9, "b": 2}}}},
		"Pack":    {{Pack: &Pack{Columns: tokens, Labels: "same"}}, {Pack: &Pack{Columns: tokens, Labels: "next"}}},
		"Sources": {{Sources: []Source{{Name: "a", Choice: Choice{Subsample: 0.1}}}}, {Sources: []Source{{Name: "a", Choice: Choice{Subsample: 0.2}}}}},
	} {
		a, b := chosen(differ[0])[field], chosen(differ[1])[field]
		if a == b || a == "" || len(a) > 300 {
			t.Errorf("%s: %q and %q", field, a, b)
		}
	}
	if got := chosen(Spec{Choice: Choice{Filters: "x > 1", Parts: map[string]float64{"val": 1, "train": 9}}}); got["Filters"] != "x > 1" || got["Parts"] != "train=9,val=1" {
		t.Errorf("got %v", got)
	}
}
