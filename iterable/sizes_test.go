package iterable

import (
	"fmt"
	"testing"

	"github.com/shardfeed/shardfeed/iterable/internal/estimate"
	"github.com/shardfeed/shardfeed/shuffle"
)

// partEnds are the most bytes that a part of a load leaves empty.
const partEnds = 128 << 10

// Costs of slices add up to at least that of the whole, never more than a whole each, and parts
// only where they are worth it.
func TestCosts(t *testing.T) {
	d := open(t, pictures(t), Options{})
	whole := d.sources[0].sizes.cost(0, 0, 160, true)
	if whole.Parts < 2 || whole.Parts > estimate.MostParts || whole.Parted < 2<<20 || whole.Fetch != d.sources[0].manifest.Groups()[0].Compressed {
		t.Errorf("%+v", whole)
	}
	flat := d.sources[0].sizes.cost(0, 0, 160, false)
	if flat.Parts != 0 || flat.Parted != 0 || flat.Whole < whole.Parted-int64(whole.Parts)*partEnds {
		t.Errorf("%+v", flat)
	}
	for _, pieces := range []int64{2, 4, 16, 160} {
		var sum estimate.Cost
		for i := range pieces {
			c := d.sources[0].sizes.cost(0, 160*i/pieces, 160*(i+1)/pieces, true)
			if c.Fetch > whole.Fetch || c.Bytes() > whole.Bytes()+estimate.InBlocks(0, 1)+partEnds*estimate.MostParts {
				t.Errorf("a slice of %d: %+v, the whole %+v", pieces, c, whole)
			}
			if c.Parts > 0 && c.Parted < int64(c.Parts)*estimate.WidePart {
				t.Errorf("%+v has parts that are too small", c)
			}
			sum.Fetch, sum.Whole = sum.Fetch+c.Fetch, sum.Whole+c.Whole+c.Parted
		}
		if sum.Fetch < whole.Fetch-pieces || sum.Whole < flat.Whole {
			t.Errorf("%d slices take %+v, the whole %+v", pieces, sum, flat)
		}
	}
}

// What is foretold is over what is measured, but not by far, for whole row groups and for slices.
func TestCostsAreTrue(t *testing.T) {
	for _, unitRows := range []int64{0, 40} {
		t.Run(fmt.Sprintf("unit_rows %d", unitRows), func(t *testing.T) {
			d := open(t, pictures(t), Options{Order: Order{Shuffle: true, UnitRows: unitRows}, ShuffleBuffer: Size{Rows: 1000}})
			s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 20})
			rest(t, s)
			measured, foretold := s.Stats().Decoded, s.ahead.Counts().Predicted
			if measured > foretold+foretold/20 || foretold > 3*measured { // the files hold each image twice: its page header has it as the largest value
				t.Errorf("unit_rows %d: %d bytes foretold, %d measured", unitRows, foretold, measured)
			}
		})
	}
}
