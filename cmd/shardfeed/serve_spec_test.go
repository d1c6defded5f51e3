package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/engine"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
)

func asked(s engine.Spec) engine.Request {
	if s.Addresses == nil {
		s.Addresses = []string{shop}
	}
	return engine.Request{Spec: s, LocalWorldSize: 1}
}

// A spec says what the flags of a command line say.
func TestSpecFlags(t *testing.T) {
	f, err := specFlags(asked(engine.Spec{
		Columns: []string{"price"}, Missing: "null", InvalidUTF8: "replace", Shuffle: true, ShuffleBuffer: "512MiB", Seed: 7, Lanes: 4, UnitRows: 100,
		Start: "direct", MaxWorldSize: 16, BatchSize: 32, Tail: "drop", Memory: "1GiB", CacheDir: "/c", CacheLimit: "1GiB", CachePolicy: "lru",
		IndexDir: "/i", Storage: map[string]string{"endpoint-url": "http://h:1", "no-sign-request": "true", "hdfs-conf": "/h", "hdfs.user": "u", "max_concurrency": "9"},
		Env: map[string]string{"HOME": "/elsewhere", dirVariable: "/unused"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	a := &app{}
	o, err := a.options(f)
	if err != nil {
		t.Fatal(err)
	}
	if !o.Shuffle || o.ShuffleBuffer.Bytes != 512<<20 || o.Seed != 7 || o.Lanes != 4 || o.UnitRows != 100 || o.Start != shuffle.Direct || o.MaxWorldSize != 16 ||
		o.Memory != 1<<30 || o.IndexDir != "/i" || o.ManifestDir != "/c/manifests" || o.Tail != shuffle.Drop || len(o.Columns) != 1 {
		t.Errorf("options %+v", o)
	}
	drivers, err := f.stores()
	if err != nil || drivers.S3.EndpointURL != "http://h:1" || !drivers.S3.Anonymous || drivers.HDFS.ConfDir != "/h" || drivers.HDFS.User != "u" || drivers.S3.MaxRequests != 9 {
		t.Errorf("stores %+v, %v", drivers, err)
	}
	f.inEnvironment(&drivers)
	if drivers.S3.Environ["HOME"] != "/elsewhere" || drivers.HDFS.Getenv("HOME") != "/elsewhere" {
		t.Errorf("environment %v", drivers.S3.Environ)
	}
	f, err = specFlags(asked(engine.Spec{Env: map[string]string{"HOME": "/elsewhere"}}))
	if err != nil || f.root() != "/elsewhere/.cache/shardfeed" {
		t.Errorf("cache in %s, %v", f.root(), err)
	}
}

// What cannot be meant is told by the names that Python has for it.
func TestSpecRefuses(t *testing.T) {
	dir := t.TempDir()
	plan := filepath.Join(dir, "plan.json")
	must(t, "plan", shop, "--shuffle", "--save", plan)
	for want, s := range map[string]engine.Spec{
		`missing="none": must be one of ["error" "null"]`:               {Missing: "none"},
		`invalid_utf8="x": must be one of ["refuse" "replace"]`:         {InvalidUTF8: "x"},
		`tail="last": must be one of ["drop" "pad" "short" "carry"]`:    {Tail: "last"},
		`start="early": must be one of ["filled" "direct"]`:             {Start: "early"},
		`cache_policy="fifo": must be one of ["keep" "lru"]`:            {CachePolicy: "fifo"},
		`shuffle_buffer must be rows, as in 100000, or bytes`:           {ShuffleBuffer: "x"},
		`memory must be bytes, as in 512MiB`:                            {Memory: "much"},
		`batch_size=-1 is below 0`:                                      {BatchSize: -1},
		`cache_limit must be bytes`:                                     {CacheLimit: "x"},
		`no_sign_request="maybe" is neither true nor false`:             {Storage: map[string]string{"no-sign-request": "maybe"}},
		`storage_options: `:                                             {Storage: map[string]string{"nonsense": "1"}},
		`lanes is set by the plan in ` + plan + `: leave one out`:       {Plan: plan, Shuffle: true, Lanes: 2},
		`manifest is set by the plan in ` + plan + `: leave one out`:    {Plan: plan, Shuffle: true, Manifest: "m"},
		`shuffle=false contradicts the plan in ` + plan:                 {Plan: plan},
		`null["a"]: null is no value`:                                   {Null: map[string]json.RawMessage{"a": json.RawMessage("null")}},
		`null["a"]: [1] is no value`:                                    {Null: map[string]json.RawMessage{"a": json.RawMessage("[1]")}},
		`pad["a"]: {} is no value`:                                      {Pad: []engine.Pad{{Column: "a", Value: json.RawMessage("{}")}}},
		`pad "price": it is double; only ragged lists are padded`:       {Pad: []engine.Pad{{Column: "price"}}},
		`fill "price": items are double, which does not hold x exactly`: {Null: map[string]json.RawMessage{"price": json.RawMessage(`"x"`)}},
		`there is no column "nonsense"`:                                 {Columns: []string{"nonsense"}},
	} {
		t.Run(want, func(t *testing.T) {
			_, err := newHost(quiet()).open(t.Context(), asked(s), func(engine.Progress) {})
			var f *engine.Failure
			if !strings.Contains(want, "column") && (!errors.As(err, &f) || f.Kind != engine.KindValue) || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v (%T), want %s", err, err, want)
			}
		})
	}
	_, err := newHost(quiet()).open(t.Context(), asked(engine.Spec{Plan: filepath.Join(dir, "none")}), nil)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a plan that is not there: %v", err)
	}
}

func TestAsArgument(t *testing.T) {
	for flags, want := range map[string]string{
		"--cache-limit: no":                       "cache_limit: no",
		"give --no-sign-request; else":            `give storage_options={"anon": True}; else`,
		"with --profile (--profile, AWS_PROFILE)": `with storage_options={"profile": ...} (storage_options={"profile": ...}, AWS_PROFILE)`,
		"--storage-option: x":                     "storage_options: x",
		"s3://my--bucket/a--b: gone":              "s3://my--bucket/a--b: gone",
		"no -- flag":                              "no -- flag",
	} {
		t.Run(flags, func(t *testing.T) {
			if got := asArgument(flags); got != want {
				t.Errorf("%q becomes %q, want %q", flags, got, want)
			}
		})
	}
}

func TestSpecLoader(t *testing.T) {
	r := asked(engine.Spec{
		BatchSize: 8, Workers: 3,
		Null: map[string]json.RawMessage{
			"i": json.RawMessage("-7"), "u": json.RawMessage("18446744073709551615"), "f": json.RawMessage("2.5"), "b": json.RawMessage("true"),
			"s": json.RawMessage(`"x"`), "z": json.RawMessage(`{"base64": "AQI="}`),
		},
		Pad: []engine.Pad{{Column: "l", Value: json.RawMessage("5"), MaxLength: 9, ToMax: true, Multiple: 3, Left: true, CutLeft: true}},
	})
	got, err := specLoader(r)
	want := loader.Options{
		BatchSize: 8, Workers: 3, NaN: true,
		Fill: []loader.Fill{
			{Column: "b", Value: true},
			{Column: "f", Value: 2.5},
			{Column: "i", Value: int64(-7)},
			{Column: "s", Value: "x"},
			{Column: "u", Value: uint64(1<<64 - 1)},
			{Column: "z", Value: []byte{1, 2}},
		},
		Pad: []loader.Padding{{Column: "l", Value: int64(5), Max: 9, ToMax: true, Multiple: 3, Side: loader.Left, Cut: loader.Left}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}
