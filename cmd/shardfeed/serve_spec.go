package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/shardfeed/shardfeed/internal/engine"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
)

// specFlags are the flags that say what a trainer's spec says.
func specFlags(r engine.Request) (*flags, error) {
	s := r.Spec
	f := &flags{
		columns: s.Columns, strict: s.Strict, manifest: s.Manifest, missing: s.Missing, invalidUTF8: s.InvalidUTF8,
		shuffle: s.Shuffle, seed: s.Seed, lanes: s.Lanes, unitRows: s.UnitRows, start: s.Start, maxWorldSize: s.MaxWorldSize,
		batchSize: s.BatchSize, tail: s.Tail, plan: s.Plan, ranksHere: r.LocalWorldSize,
		cacheFlags: cacheFlags{
			cacheDir: s.CacheDir, cacheLimit: s.CacheLimit, cachePolicy: s.CachePolicy, noCache: s.NoCache, footers: s.IndexDir, variables: s.Env,
		},
	}
	if s.ShuffleBuffer != "" {
		if err := f.shuffleBuffer.Set(s.ShuffleBuffer); err != nil {
			return nil, valueError("shuffle_buffer %v", err)
		}
	}
	if s.Memory != "" {
		if err := f.memory.Set(s.Memory); err != nil {
			return nil, valueError("memory %v", err)
		}
	}
	if err := f.storageFlags.adopt(s.Storage); err != nil {
		return nil, err
	}
	if err := checkSpec(s); err != nil {
		return nil, err
	}
	if err := f.checkCacheLimit(); err != nil {
		return nil, err
	}
	return f, f.adoptPlan(func(flag string) bool { return saysOrder(s, flag) })
}

// saysOrder reports whether a spec says what a plan would say.
func saysOrder(s engine.Spec, flag string) bool {
	return map[string]bool{
		"shuffle-buffer": s.ShuffleBuffer != "", "lanes": s.Lanes != 0, "unit-rows": s.UnitRows != 0, "start": s.Start != "",
		"max-world-size": s.MaxWorldSize != 0, "manifest": s.Manifest != "", "shuffle": true,
	}[flag]
}

// checkSpec finds words that mean nothing, and numbers that cannot be meant.
func checkSpec(s engine.Spec) error {
	for _, w := range []struct {
		name, value string
		words       []string
	}{
		{"missing", s.Missing, []string{"", "error", "null"}},
		{"invalid_utf8", s.InvalidUTF8, []string{"", "refuse", "replace"}},
		{"start", s.Start, []string{"", string(shuffle.Filled), string(shuffle.Direct)}},
		{"tail", s.Tail, []string{"", string(shuffle.Drop), string(shuffle.Pad), string(shuffle.Short), string(shuffle.Carry)}},
		{"cache_policy", s.CachePolicy, []string{"", "keep", "lru"}},
	} {
		if !slices.Contains(w.words, w.value) {
			return valueError("%s=%q: must be one of %q", w.name, w.value, w.words[1:])
		}
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"batch_size", int64(s.BatchSize)},
		{"lanes", int64(s.Lanes)},
		{"unit_rows", s.UnitRows},
		{"max_world_size", int64(s.MaxWorldSize)},
		{"slots", int64(s.Slots)},
		{"workers", int64(s.Workers)},
	} {
		if n.value < 0 {
			return valueError("%s=%d is below 0", n.name, n.value)
		}
	}
	return nil
}

// adopt takes the options that have flags, and keeps the others as --storage-option does.
func (f *storageFlags) adopt(options map[string]string) error {
	texts := map[string]*string{
		"endpoint-url": &f.endpointURL, "region": &f.region, "profile": &f.profile, "request-payer": &f.requestPayer, "ca-bundle": &f.caBundle,
		"hdfs-conf": &f.hdfsConf, "keytab": &f.keytab, "principal": &f.principal,
	}
	f.more = keyValues{}
	for _, key := range slices.Sorted(maps.Keys(options)) {
		value := options[key]
		switch text := texts[key]; {
		case text != nil:
			*text = value
		case key == "no-sign-request":
			var err error
			if f.noSignRequest, err = strconv.ParseBool(value); err != nil {
				return valueError("no_sign_request=%q is neither true nor false", value)
			}
		default:
			f.more[key] = value
		}
	}
	_, err := f.stores()
	return err
}

// specLoader is how batches are made, but for what an iteration says.
func specLoader(r engine.Request) (loader.Options, error) {
	s := r.Spec
	o := loader.Options{BatchSize: max(1, s.BatchSize), Tail: shuffle.Tail(s.Tail), Workers: workersOf(r), NaN: true}
	for _, column := range slices.Sorted(maps.Keys(s.Null)) {
		value, err := specValue(s.Null[column])
		if err != nil || value == nil {
			return o, valueError("null[%q]: %s is no value", column, s.Null[column])
		}
		o.Fill = append(o.Fill, loader.Fill{Column: column, Value: value})
	}
	for _, p := range s.Pad {
		value, err := specValue(p.Value)
		if err != nil {
			return o, valueError("pad[%q]: %s is no value", p.Column, p.Value)
		}
		o.Pad = append(o.Pad, loader.Padding{
			Column: p.Column, Value: value, Max: p.MaxLength, ToMax: p.ToMax, Multiple: p.Multiple, Side: side(p.Left), Cut: side(p.CutLeft),
		})
	}
	return o, nil
}

func side(left bool) loader.Side {
	if left {
		return loader.Left
	}
	return loader.Right
}

// specValue is a value in JSON as the loader takes it: a number, a boolean, a text, or the bytes of
// {"base64": "..."}.
func specValue(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	switch v := value.(type) {
	case nil, bool, string:
		return v, nil
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n, nil
		}
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return n, nil
		}
		return v.Float64()
	case map[string]any:
		if text, ok := v["base64"].(string); ok && len(v) == 1 {
			return base64.StdEncoding.DecodeString(text)
		}
	}
	return nil, errors.New("no value")
}

// specTransforms are the static ones.
func specTransforms(s engine.Spec) []iterable.Transform {
	var all []iterable.Transform
	for _, column := range slices.Sorted(maps.Keys(s.Vocabulary)) {
		all = append(all, iterable.Vocabulary(column, s.Vocabulary[column]))
	}
	return all
}
