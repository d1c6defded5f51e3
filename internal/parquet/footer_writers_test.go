package parquet

import "testing"

func TestLeavesOutHeaders(t *testing.T) {
	for createdBy, want := range map[string]bool{
		"parquet-mr":                              true,
		"parquet-mr version 1.2.8 (build abc)":    true,
		"parquet-mr version 1.2.8rc3 (build abc)": true,
		"parquet-mr version 1.0":                  true,
		"parquet-mr version 1.2.9":                false,
		"parquet-mr version 1.10.0 (build abc)":   false,
		"parquet-mr version 2.0":                  false,
		"parquet-cpp version 1.0.0":               false,
		"":                                        false,
	} {
		if got := leavesOutHeaders(createdBy); got != want {
			t.Errorf("%q: %v", createdBy, got)
		}
	}
}
