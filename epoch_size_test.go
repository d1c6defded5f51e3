package shardfeed_test

import (
	"context"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed"
)

// A spec with EpochSize and addresses is a mixture of one source, which has the rule of the spec.
func TestEpochSizeOfOneDataset(t *testing.T) {
	s := shardfeed.Spec{
		Addresses: []string{"testdata/shop"}, Order: shardfeed.Order{Shuffle: true}, Mixing: shardfeed.Mixing{EpochSize: 70}, Caching: shardfeed.Caching{NoCache: true, IndexDir: t.TempDir()}, Choice: shardfeed.Choice{Filters: "price > 0"},
	}
	d, err := shardfeed.Open(context.Background(), s, shardfeed.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	if n := d.NumSamples(); n != 70 {
		t.Errorf("an epoch has %d rows, want 70", n)
	}
	if chosen := d.Chosen()["Sources"]; chosen != `data={"filters":"price > 0"}` {
		t.Errorf("chosen is %q", chosen)
	}
	for want, change := range map[string]func(s *shardfeed.Spec){
		"EpochSize needs Shuffle": func(s *shardfeed.Spec) { s.Shuffle = false },
		"Filters at column":       func(s *shardfeed.Spec) { s.Filters = "price ~" },
	} {
		other := s
		change(&other)
		if err := other.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
