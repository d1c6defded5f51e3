package shardfeed

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
)

// LoaderOptions are how package loader makes the batches of the spec, without what depends on the
// rank and its epoch. The spec is valid. JPEGs are decoded in Go: package images/turbo has the
// quicker decoder for ImageDecoder, which a program that does not want it need not link.
func (s Spec) LoaderOptions() loader.Options {
	o := loader.Options{BatchSize: max(1, s.BatchSize), Tail: shuffle.Tail(s.Tail), Workers: s.Workers, NaN: true, Seeds: s.Seeds, OnError: iterable.OnError(s.OnError), MaxLost: s.MaxLost, Packed: s.Pack.packed()}
	o.LocalWorldSize = cmp.Or(s.LocalWorldSize, mem.LocalWorldSize())
	if o.Workers == 0 {
		ranks := max(1, s.LocalWorldSize)
		o.Workers = max(1, (cores.Number()+ranks-1)/ranks)
	}
	o.Features = s.features(&option.List{New: newOptionError})
	if o.Images, o.ImageDecoder = s.Images, s.decoder(); len(o.Images) > 0 {
		o.ImageParallel = o.Workers // also where large batches leave memory for fewer workers
	}
	for _, column := range slices.Sorted(maps.Keys(s.Null)) {
		value, _ := parseValue(s.Null[column])
		o.Fill = append(o.Fill, loader.Fill{Column: column, Value: value})
	}
	for _, p := range s.Pad {
		value, _ := parseValue(p.Value)
		o.Pad = append(o.Pad, loader.Padding{
			Column: p.Column, Value: value, Max: p.MaxLength, ToMax: p.ToMax, Multiple: p.Multiple, Within: p.within(), Left: p.Left, CutLeft: p.CutLeft,
		})
	}
	return o
}

// within is the sizes as the loader takes them.
func (p Pad) within() (all []loader.PadSize) {
	for _, w := range p.Within {
		all = append(all, loader.PadSize{Max: w.MaxLength, Multiple: w.Multiple})
	}
	return all
}

// parseValue reads a value in JSON as the loader takes it: a number, a boolean, a text, or the
// bytes of {"base64": "..."}.
func parseValue(raw json.RawMessage) (any, error) {
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
	return nil, errors.New("a value must be a number, a boolean, a text or bytes")
}
