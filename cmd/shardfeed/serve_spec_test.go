package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/internal/engine"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/option"
)

func asked(s wire.Spec) engine.Request {
	if s.Addresses == nil {
		s.Addresses = []string{shop}
	}
	return engine.Request{Spec: s, LocalWorldSize: 1}
}

// What cannot be meant is reported by the names that Python has for it.
func TestSpecRefuses(t *testing.T) {
	dir := t.TempDir()
	plan := filepath.Join(dir, "plan.json")
	must(t, "plan", shop, "--shuffle", "--save", plan)
	list := keptList(t, dir)
	for want, s := range map[string]wire.Spec{
		`missing must be error or null, got "none"`:          {Missing: "none"},
		`invalid_utf8 must be refuse or replace, got "x"`:    {InvalidUTF8: "x"},
		`tail must be drop, pad, short or carry, got "last"`: {Order: shardfeed.Order{Tail: "last"}},
		`start must be filled or direct, got "early"`:        {Order: shardfeed.Order{Start: "early"}},
		`cache_policy must be "keep", "keep=" and how long after the last use, as in "keep=7d" or "keep=36h", or "lru", got "fifo"`: {Caching: shardfeed.Caching{CachePolicy: "fifo"}},
		`shuffle_buffer must be rows, as in 100000, or bytes, as in 512MiB, with /rank or /node for each, got "x"`:                  {ShuffleBuffer: "x"},
		`memory must be bytes, as in 512MiB, 1.5GiB, 1GB or 1048576, got "much"`:                                                    {Memory: "much"},
		`batch_size must not be negative, got -1`:                                                                                   {BatchSize: -1},
		`cache_limit must be bytes`:                                                       {Caching: shardfeed.Caching{CacheLimit: "x"}},
		`storage_options={"anon": True} must be true or false, got "maybe"`:               {Storage: map[string]string{"no-sign-request": "maybe"}},
		`storage_options cannot be used: `:                                                {Storage: map[string]string{"nonsense": "1"}},
		plan + `: lanes is part of the plan; leave one of the two out`:                    {Plan: plan, Order: shardfeed.Order{Shuffle: true, Lanes: 2}},
		plan + `: manifest is part of the plan; leave one of the two out`:                 {Plan: plan, Order: shardfeed.Order{Shuffle: true}, Manifest: list},
		plan + `: shuffle is false, but the plan was saved with true`:                     {Plan: plan},
		`null["a"] must be a number, a boolean, a text or {"base64": ...}, got null`:      {Null: map[string]json.RawMessage{"a": json.RawMessage("null")}},
		`null["a"] must be a number, a boolean, a text or {"base64": ...}, got [1]`:       {Null: map[string]json.RawMessage{"a": json.RawMessage("[1]")}},
		`pad["a"] must be a number, a boolean or {"base64": ...}, got {}`:                 {Pad: []shardfeed.Pad{{Column: "a", Value: json.RawMessage("{}")}}},
		`pad["price"] does not apply: it is double; only ragged lists are padded`:         {Pad: []shardfeed.Pad{{Column: "price"}}},
		`null["price"] does not apply: items are double, which does not hold "x" exactly`: {Null: map[string]json.RawMessage{"price": json.RawMessage(`"x"`)}},
		`there is no column "nonsense"`:                                                   {Columns: []string{"nonsense"}},
	} {
		t.Run(want, func(t *testing.T) {
			_, err := newHost(quiet()).open(t.Context(), asked(s), func(wire.Progress) {})
			if err == nil || !strings.Contains(option.Spelled(err, option.Argument), want) {
				t.Errorf("%v (%T), want %s", err, err, want)
			}
		})
	}
	_, err := newHost(quiet()).open(t.Context(), asked(wire.Spec{Plan: filepath.Join(dir, "none")}), nil)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a plan that is not there: %v", err)
	}
}

// keptList is the list of the shop's shards, kept in a directory.
func keptList(t *testing.T, dir string) string {
	t.Helper()
	ds, err := shardfeed.Open(t.Context(), shardfeed.Spec{Addresses: []string{shop}}, shardfeed.Events{})
	if err != nil {
		t.Fatal(err)
	}
	path, err := ds.SaveManifest(dir)
	if err := errors.Join(err, ds.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	return path
}
