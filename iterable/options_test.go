package iterable

import (
	"errors"
	"math"
	"testing"

	"github.com/shardfeed/shardfeed/internal/option/optiontest"
	"github.com/shardfeed/shardfeed/shuffle"
)

func TestOptionsValidateEveryField(t *testing.T) {
	optiontest.Walk(t, Options{}, map[string]string{
		"Shuffle": "both are meant", "MissingIsNull": "both are meant", "ReplaceUTF8": "both are meant", "Strict": "both are meant", "Seed": "any number is a seed", "Budget": "NewBudget makes it", "IndexDir": "any name",
		"ManifestDir": "any name", "Hot": "NewHot makes it", "Events": "functions",
		"Vocabulary": "checked against the schema",
	}, map[string][]any{
		"Columns":  {[]string{}, []string{"id", ""}},
		"Plan":     {&SavedPlan{}, &SavedPlan{Manifest: &shuffle.Manifest{Groups: []shuffle.Group{{}}}}},
		"Manifest": {&shuffle.Manifest{Groups: []shuffle.Group{{Shard: 1}}}},
	})
}

func TestStreamOptionsValidateEveryField(t *testing.T) {
	optiontest.Walk(t, StreamOptions{}, nil, map[string][]any{
		"Epochs": {math.MaxInt64}, "State": {&shuffle.State{}}, "MaxLost": {-0.1, 1.1, math.NaN()},
	})
}

// Two options that say where to end are refused, and each alone is taken.
func TestStreamOptionsEndOnce(t *testing.T) {
	for _, c := range []struct {
		name    string
		o       StreamOptions
		refused bool
	}{
		{"Epochs", StreamOptions{Epochs: 2}, false},
		{"UntilEpoch", StreamOptions{UntilEpoch: 2}, false},
		{"both", StreamOptions{Epochs: 2, UntilEpoch: 2}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e *OptionError
			if err := c.o.Validate(); (err != nil) != c.refused || c.refused && (!errors.As(err, &e) || e.Field != "UntilEpoch") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// Each problem is a value with a field.
func TestOptionError(t *testing.T) {
	err := Options{Lanes: -3, UnitRows: -2, Shuffle: true, Plan: &SavedPlan{Manifest: &shuffle.Manifest{}}}.Validate()
	var e *OptionError
	if !errors.As(err, &e) || e.Field != "Lanes" || e.Error() != "Lanes must not be negative, got -3" {
		t.Errorf("got %+v", e)
	}
	state := shuffle.State{Format: 1, Plan: shuffle.Sequential, Epoch: math.MaxUint64}
	var why *shuffle.Error
	if err := (StreamOptions{State: &state}).Validate(); !errors.As(err, &why) {
		t.Errorf("the cause is lost: %v", err)
	}
}
