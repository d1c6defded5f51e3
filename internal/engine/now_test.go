package engine

import (
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

// TestRanksShareTheDay: ranks of one opening that come on either side of midnight have the day of
// the first, and with it one data set; another opening has its own.
func TestRanksShareTheDay(t *testing.T) {
	e := testEngine(t, Options{})
	yesterday := time.Now().UTC().AddDate(0, 0, -1)
	e.openings["first"] = yesterday
	spec := testSpec()
	spec.Filters = "price > 1 and day >= today() - 7"
	want := yesterday.Truncate(24 * time.Hour).Format(time.RFC3339)
	if got := e.timed(wire.Open{Opening: "first", Spec: spec}).Now; got != want {
		t.Errorf("the opening has %s, want %s", got, want)
	}
	begun := e.timed(wire.Open{Opening: "second", Spec: spec}).Now
	if begun == want || begun != e.timed(wire.Open{Opening: "second", Spec: spec}).Now {
		t.Errorf("another opening has %s", begun)
	}
	spec.Now = "2024-01-05T16:30:00Z"
	if got := e.timed(wire.Open{Opening: "first", Spec: spec}).Now; got != "2024-01-05T00:00:00Z" {
		t.Errorf("a resumed run has %s", got)
	}
	if got := e.timed(wire.Open{Opening: "third", Spec: testSpec()}); got.Now != "" || len(e.openings) != 2 {
		t.Errorf("filters without today() have %q; %d openings are kept", got.Now, len(e.openings))
	}
}
