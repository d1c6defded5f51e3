package iterable

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/option/optiontest"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shuffle"
	"github.com/shardfeed/shardfeed/tokenize"
)

func TestOptionsValidateEveryField(t *testing.T) {
	optiontest.Walk(t, Options{}, map[string]string{
		"Shuffle": "both are meant", "MissingIsNull": "both are meant", "ReplaceUTF8": "both are meant", "Strict": "both are meant", "Declared": "both are meant", "RowIDs": "both are meant", "RowKeys": "both are meant", "Seed": "any number is a seed", "Budget": "NewBudget makes it", "IndexDir": "any name",
		"ManifestDir": "any name", "LaneDir": "any name", "Hot": "NewHot makes it", "Tier": "a function", "Events": "functions",
		"Vocabulary": "checked against the schema", "Weight": "checked against the schema", "ReadFile": "a function", "Needed": "a function",
		"Split": "rule.Split checks it", "Rows": "rule.ParseRowList makes it", "CountShare": "the engine makes it", "Snapshot": "Open checks it", "Tables": "formats",
	}, map[string][]any{
		"Sources":        {[]Source{{}}},
		"Curriculum":     {[]WeightChange{{From: 5, Weights: map[string]float64{"a": 1}}}},
		"Unknown":        {map[string]int64{"label": 0}},
		"Tokenize":       {map[string]Tokenizer{"text": {}}, map[string]Tokenizer{"text": {Options: tokenize.Options{Specials: "some"}}}},
		"Filters":        {"a >", "a > 1)"},
		"Now":            {time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"Bucket":         {&rule.Bucket{}, &rule.Bucket{Columns: map[string]int{"a": 0}}},
		"Pack":           {&Pack{}, &Pack{Pack: rule.Pack{Columns: map[string]int{"a": 0}}}},
		"PartitionTypes": {map[string]string{"month": "int"}},
		"Columns":        {[]string{}, []string{"id", ""}},
		"Plan":           {&SavedPlan{}, &SavedPlan{Manifest: &shuffle.Manifest{Groups: []shuffle.Group{{}}}}},
		"Inventory":      {&Inventory{}}, "MaxLost": {-0.1, 1.1, math.NaN()},
		"Manifest": {&SavedManifest{}, &SavedManifest{Sources: []SavedShards{{Manifest: &shuffle.Manifest{Groups: []shuffle.Group{{Shard: 1}}}}}}},
	})
}

func TestStreamOptionsValidateEveryField(t *testing.T) {
	free := map[string]string{"Stacks": "they come of NewStacks", "Copied": "both are meant", "Hashes": "both are meant", "Horizon": "any epoch may be the last"}
	optiontest.Walk(t, StreamOptions{}, free, map[string][]any{
		"Epochs": {math.MaxInt64}, "State": {&shuffle.State{}},
		"Seats": {shuffle.Seats{1}, shuffle.Seats{0, 0}},
	})
}

// What package rule finds wrong is an OptionError of the option's field.
func TestOptionsValidateRules(t *testing.T) {
	for _, c := range []struct {
		name  string
		o     Options
		field string
		want  string
	}{
		{"a filter", Options{Choice: Choice{Filters: "a >"}}, "Filters", "filters at column 4, at the end: expected a value"},
		{"a part alone", Options{Choice: Choice{Split: rule.Split{Part: "val"}}}, "Part", `part needs parts, got "val" alone`},
		{"a key alone", Options{Choice: Choice{Split: rule.Split{Key: "user"}}}, "PartKey", `part_key needs parts or subsample, got "user" alone`},
		{"a sample", Options{Choice: Choice{Split: rule.Split{Subsample: 2}}}, "Subsample", "subsample must be from 0.000001 to 1, got 2"},
		{"new rows alone", Options{Choice: Choice{RowsNew: rule.KeepNew}}, "RowsNew", `rows_new needs rows, got "keep" alone`},
		{"new rows", Options{Choice: Choice{Rows: &rule.RowList{}, RowsNew: "all"}}, "RowsNew", `rows_new must be error, keep or drop, got "all"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e *OptionError
			err := c.o.Validate()
			if !errors.As(err, &e) || e.Field != c.field {
				t.Fatalf("got %v", err)
			}
			if got := option.Spelled(err, option.Argument); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
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
	err := Options{Order: Order{Lanes: -3, UnitRows: -2, Shuffle: true}, Plan: &SavedPlan{Manifest: &shuffle.Manifest{}}}.Validate()
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
