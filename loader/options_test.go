package loader

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/boxes"
	"github.com/shardfeed/shardfeed/internal/option/optiontest"
	"github.com/shardfeed/shardfeed/shuffle"
)

func TestOptionsRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want []string // one for each problem
	}{
		{"batch size", Options{BatchSize: -2}, []string{"BatchSize must not be negative, got -2"}},
		{"absurd batch size", Options{BatchSize: 1 << 40}, []string{"BatchSize must be at most 2147483647, got 1099511627776"}},
		{"drop last and tail", Options{DropLast: true, Tail: shuffle.Pad}, []string{`DropLast contradicts Tail "pad"; leave one of the two out`}},
		{"tail", Options{Tail: "cut"}, []string{`Tail must be drop, pad, short or carry, got "cut"`}},
		{"workers", Options{Workers: -1}, []string{"Workers must not be negative, got -1"}},
		{"prefetch", Options{Workers: 1, PrefetchFactor: -1}, []string{"PrefetchFactor must not be negative, got -1"}},
		{"prefetch without workers", Options{PrefetchFactor: 2}, []string{"PrefetchFactor needs Workers; set them, or leave it out"}},
		{"unordered without workers", Options{Unordered: true}, []string{"Unordered needs Workers; set them, or leave it out"}},
		{"timeout", Options{Timeout: -time.Second}, []string{"Timeout must not be negative, got -1s"}},
		{"rank", Options{Rank: 2, WorldSize: 2}, []string{"Rank must be 0 to 1, got 2"}},
		{"rank alone", Options{Rank: 1}, []string{"Rank must be 0 to 0, got 1"}},
		{"world size", Options{WorldSize: -1}, []string{"WorldSize must not be negative, got -1"}},
		{"state and epoch", Options{State: someState(shuffle.Short), Epoch: 1}, []string{"Epoch contradicts State, which says the epoch; leave one of the two out"}},
		{"state and drop last", Options{State: someState(shuffle.Carry), DropLast: true}, []string{`Tail must be "carry" as in State, got "drop"`}},
		{"epoch and prefetch", Options{Epoch: -1, Workers: 1, PrefetchFactor: -1}, []string{
			"PrefetchFactor must not be negative, got -1", "Epoch must not be negative, got -1",
		}},
		{"two ends", Options{Epochs: 2, UntilEpoch: 3}, []string{"UntilEpoch says where to end, and so does Epochs; leave one of the two out"}},
		{"max batches", Options{MaxBatches: -1}, []string{"MaxBatches must not be negative, got -1"}},
		{"max batches for the workers alone", Options{MaxBatches: 2, Workers: 2}, []string{
			"MaxBatches must be more than the 2 Workers, so that the consumer gets one, got 2",
		}},
		{"transform", Options{Transforms: []Transform{{Name: "flip"}}}, []string{`Transforms[0] must have a function Apply or Rows, "flip" has none`}},
		{"pad", Options{Pad: []Padding{{Column: "x", Multiple: -1, Max: -1}}}, []string{
			"Pad[0].Multiple must not be negative, got -1", "Pad[0].Max must not be negative, got -1",
		}},
		{"pad to max", Options{Pad: []Padding{{ToMax: true}}}, []string{"Pad[0].Column must not be empty", "Pad[0].ToMax needs a Max"}},
		{"pad multiple", Options{Pad: []Padding{{Column: "x", Max: 100, Multiple: 64}}}, []string{"Pad[0].Max must be a multiple of Multiple 64, got 100"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.o.Validate()
			if err == nil || err.Error() != strings.Join(c.want, "\n") {
				t.Errorf("got  %v\nwant %s", err, strings.Join(c.want, "\n"))
			}
		})
	}
}

// someState is a valid state.
func someState(tail shuffle.Tail) *shuffle.State {
	return &shuffle.State{
		Format: 1, Plan: shuffle.Version, Shuffle: true, Rows: 10, GlobalBatch: 1, Manifest: strings.Repeat("0", 64), Units: strings.Repeat("0", 16),
		Params: &shuffle.Params{Lanes: 1, Quantum: 1, Life: 1, Buffer: 1, Start: shuffle.Filled, Assign: shuffle.Sticky, Tail: tail},
	}
}

// ofSpec is why a field is not walked.
const ofSpec = "errors name the field of shardfeed.Spec; TestFeaturesValidate has them"

func TestOptionsValidateEveryField(t *testing.T) {
	optiontest.Walk(t, Options{Workers: 1}, map[string]string{
		"DropLast": "both are meant", "Unordered": "both are meant", "NaN": "both are meant", "Seeds": "both are meant", "Hashes": "both are meant",
		"ImageDecoder": "nil is a default", "Horizon": "any epoch may be the last", "Allocator": "what it returns is checked when it is used", "Packed.Tokens": "checked against the schema",
		"Features.Cast": ofSpec, "Features.Hash": ofSpec, "Features.Scale": ofSpec, "Features.Stack": ofSpec,
	}, map[string][]any{
		"Epochs": {math.MaxInt64}, "Timeout": {-time.Second}, "State": {&shuffle.State{}}, "Fill": {[]Fill{{}}},
		"Seats":      {shuffle.Seats{1}, shuffle.Seats{0, 0}},
		"Images":     {map[string]images.Options{"": {}}, map[string]images.Options{"img": {Height: -1}}},
		"ImageSplit": {NewImageSplit(-0.1), NewImageSplit(1.1), NewImageSplit(math.NaN())},
		"Boxes":      {map[string]boxes.Options{"": {Of: "img"}}, map[string]boxes.Options{"boxes": {}}},
		"Pad":        {[]Padding{{}}}, "Packed.With": {[]string{"mask"}, []string{"doc_ids", "doc_ids"}}, "Transforms": {[]Transform{{}}},
	})
}

func TestOptionsDefaults(t *testing.T) {
	if err := (Options{}).Validate(); err != nil {
		t.Fatal(err)
	}
	o := Options{}.withDefaults()
	if o.BatchSize != 1 || o.WorldSize != 1 || o.Epochs != 1 || o.PrefetchFactor != 0 || o.MaxBatches != 2 || o.Tail != shuffle.Short {
		t.Errorf("got %+v", o)
	}
	o = Options{Workers: 3}.withDefaults()
	if o.PrefetchFactor != 2 || o.MaxBatches != 8 {
		t.Errorf("got %+v", o)
	}
}

// Under replication a loader is that of the data rank, and its tail that of the data world.
func TestOptionsReplication(t *testing.T) {
	for _, c := range []struct {
		o           Options
		rank, world int
		tail        shuffle.Tail
	}{
		{Options{Rank: 5, WorldSize: 6, Replication: 3}, 1, 2, shuffle.Pad},
		{Options{Rank: 5, WorldSize: 6, Replication: 6}, 0, 1, shuffle.Short},
		{Options{Rank: 5, WorldSize: 6}, 5, 6, shuffle.Pad},
	} {
		if err := c.o.Validate(); err != nil {
			t.Error(err)
		}
		if o := c.o.withDefaults(); o.Rank != c.rank || o.WorldSize != c.world || o.Tail != c.tail {
			t.Errorf("rank %d of %d by %d: rank %d of %d, tail %s", c.o.Rank, c.o.WorldSize, c.o.Replication, o.Rank, o.WorldSize, o.Tail)
		}
	}
	if err := (Options{WorldSize: 6, Replication: 4}).Validate(); err == nil || err.Error() != "Replication must divide WorldSize 6, got 4" {
		t.Errorf("%v", err)
	}
}

func TestOptionsTail(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want shuffle.Tail
	}{
		{Options{}, shuffle.Short},
		{Options{WorldSize: 1}, shuffle.Short},
		{Options{WorldSize: 2}, shuffle.Pad},
		{Options{WorldSize: 2, DropLast: true}, shuffle.Drop},
		{Options{DropLast: true}, shuffle.Drop},
		{Options{DropLast: true, Tail: shuffle.Drop}, shuffle.Drop},
		{Options{Tail: shuffle.Carry}, shuffle.Carry},
		{Options{Tail: shuffle.Short, WorldSize: 2}, shuffle.Short},
		{Options{State: &shuffle.State{Params: &shuffle.Params{Tail: shuffle.Carry}}}, shuffle.Carry},
		{Options{State: &shuffle.State{Params: &shuffle.Params{Tail: shuffle.Short}}, WorldSize: 2}, shuffle.Pad},
		{Options{State: &shuffle.State{}}, shuffle.Short},
	} {
		if got := c.o.tail(); got != c.want {
			t.Errorf("world size %d, drop last %t: got %s, want %s", c.o.WorldSize, c.o.DropLast, got, c.want)
		}
	}
}
