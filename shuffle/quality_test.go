package shuffle

import (
	"slices"
	"testing"
)

func TestQualityProposes(t *testing.T) {
	m := manifestOf(slices.Repeat([]int64{1000}, 800))
	for _, c := range []struct {
		name     string
		o        Options
		few      bool
		unitRows int64
	}{
		{"plenty", Options{Buffer: 400_000}, false, 0},
		{"four units a lane", Options{Buffer: 32_000, WorldSize: 8}, false, 0},
		{"under four units a lane", Options{Buffer: 31_999, WorldSize: 8}, true, 999},
		{"a unit a lane", Options{Buffer: 8_000, WorldSize: 8}, true, 250},
		{"a row a lane", Options{Buffer: 8, WorldSize: 8}, true, 1},
		{"more than the data", Options{Buffer: 1 << 40, WorldSize: 512}, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := newPlan(t, m, c.o, 1).Quality(256)
			if q.FewUnits != c.few || q.UnitRows != c.unitRows {
				t.Errorf("%+v", q)
			}
			if !c.few {
				return
			}
			// What is proposed must help: then four units fit a lane's share.
			c.o.UnitRows = q.UnitRows
			if p := newPlan(t, m, c.o, 1); p.Quality(256).FewUnits && p.sizes.largest > 1 {
				t.Errorf("with unit_rows %d it still has few units", q.UnitRows)
			}
			c.o.UnitRows, c.o.Buffer = 0, q.BufferRows
			if newPlan(t, m, c.o, 1).Quality(256).FewUnits {
				t.Errorf("with a buffer of %d rows it still has few units", q.BufferRows)
			}
		})
	}
}

// More buffer never foretells worse mixing, and what is foretold is a number.
func TestQualityIsSane(t *testing.T) {
	for n := range uint64(500) {
		c := randomCase(t, 7000+n)
		q := c.plan.Quality(64)
		if !(q.Deff >= 1) || c.plan.Rows() > 0 && !(q.Units >= 0.5 && q.Units <= 64.5 && q.Independent > 0) {
			t.Errorf("%s with %d units: %+v", c.name, c.plan.units.Len(), q)
		}
	}
}
