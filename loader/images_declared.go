package loader

import (
	"errors"
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images"
)

// allColumns is the name in Options.Images of all columns that a schema declares.
const allColumns = "*"

// declaredImages replaces options that ask for the schema's declaration by the declared ones.
// Options under a column's own name win over the options for all columns.
func (b *binder) declaredImages(given map[string]images.Options) map[string]images.Options {
	all := map[string]images.Options{}
	for _, name := range sortedKeys(given) {
		if !given[name].Declared {
			all[name] = given[name]
			continue
		}
		names := []string{name}
		if name == allColumns {
			names = b.encodedColumns()
		}
		if len(names) == 0 {
			b.problems.Add(fmt.Sprintf("Images[%q]", name), "does not apply: %v", errUndeclared)
		}
		for _, column := range names {
			if _, own := given[column]; own && column != name {
				continue
			}
			o, err := b.declared(column)
			if err != nil {
				b.problems.Add(fmt.Sprintf("Images[%q]", name), "does not apply: %v", err)
				continue
			}
			all[column] = o
		}
	}
	return all
}

// encodedColumns lists the columns that a schema declares.
func (b *binder) encodedColumns() (names []string) {
	for _, f := range b.data.Fields {
		if f.Encoding != nil {
			names = append(names, f.Name)
		}
	}
	return names
}

var errUndeclared = errors.New("no schema of petastorm, in _common_metadata beside the shards, declares a column that is read as an array or an image; name columns with their shapes")

// declared returns the options of a column that petastorm's schema declares.
func (b *binder) declared(name string) (o images.Options, err error) {
	i := slices.IndexFunc(b.data.Fields, func(f *column.Field) bool { return f.Name == name })
	if i < 0 {
		return o, fmt.Errorf("column %q is not read", name)
	}
	e := b.data.Fields[i].Encoding
	if e == nil {
		return o, fmt.Errorf("no schema of petastorm, in _common_metadata beside the shards, declares column %q; give its shape", name)
	}
	return optionsOfEncoding(name, e)
}

// optionsOfEncoding are the options that make the tensors that petastorm makes.
func optionsOfEncoding(name string, e *column.Encoding) (o images.Options, err error) {
	switch picture := e.Codec == "CompressedImageCodec"; {
	case picture && e.Fixed() && len(e.Shape) == 3 && e.Shape[2] == 3 && e.DType == string(images.Uint8):
		o = images.Options{Height: e.Shape[0], Width: e.Shape[1], Layout: images.HWC, IgnoreOrientation: true, Exact: true}
	case picture:
		return o, fmt.Errorf("column %q is %v, and pictures of uint8 and one shape (height, width, 3) are decoded as declared; give it options of its own, with a size", name, e)
	case (e.Codec == "NdarrayCodec" || e.Codec == "CompressedNdarrayCodec") && e.Fixed():
		o = images.Options{Array: &images.Array{Shape: e.Shape, DType: e.DType}}
	default:
		return o, fmt.Errorf("column %q is %v, and arrays of one shape become tensors; leave it out of {Columns}, or name the columns to decode", name, e)
	}
	if err := o.Validate(); err != nil {
		return o, fmt.Errorf("column %q is %v, which no tensor holds; leave it out of {Columns}, or name the columns to decode", name, e)
	}
	return o, nil
}
