package loader

import (
	"errors"
	"fmt"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images"
)

// allColumns is the name in Options.Images of all columns that a schema declares.
const allColumns = "*"

// declaredImages replaces options for all columns by options of each column that a schema declares:
// as it is declared, or the given ones for each picture. Options under a column's own name win.
func (b *binder) declaredImages(given map[string]images.Options) map[string]images.Options {
	all := map[string]images.Options{}
	for _, name := range sortedKeys(given) {
		o := given[name]
		if !o.Declared && name != allColumns {
			all[name] = o
			continue
		}
		names := []string{name}
		if name == allColumns {
			names = b.encodedColumns(!o.Declared)
		}
		if len(names) == 0 {
			b.problems.Add(fmt.Sprintf("Images[%q]", name), "does not apply: %v", errUndeclared)
		}
		for _, column := range names {
			if _, own := given[column]; own && column != name {
				continue
			}
			if !o.Declared {
				all[column] = o
				continue
			}
			declared, err := b.declared(column)
			if err != nil {
				b.problems.Add(fmt.Sprintf("Images[%q]", name), "does not apply: %v", err)
				continue
			}
			all[column] = declared
		}
	}
	return all
}

// encodedColumns lists the columns that a schema declares, or the pictures among them. Audio is
// left as bytes.
func (b *binder) encodedColumns(pictures bool) (names []string) {
	var visit func(name string, f *column.Field)
	visit = func(name string, f *column.Field) {
		if e := f.Encoding; e != nil && (e.Picture() || !pictures && e.Codec != "Audio") {
			names = append(names, name)
		}
		switch f.Kind {
		case column.List:
			visit(name, f.Children[0])
		case column.Struct:
			for _, c := range f.Children {
				visit(name+"."+c.Name, c)
			}
		}
	}
	for _, f := range b.data.Fields {
		visit(f.Name, f)
	}
	return names
}

var errUndeclared = errors.New("no schema declares a column that is read as an array or an image: neither petastorm's, in _common_metadata beside the shards, nor the features of Hugging Face's library; name columns with their shapes")

// declared returns the options of a column that a schema declares.
func (b *binder) declared(name string) (o images.Options, err error) {
	f, err := b.imageFile(name)
	if err != nil || f == nil {
		return o, fmt.Errorf("column %q is not read", name)
	}
	if f.Encoding == nil {
		return o, fmt.Errorf("no schema declares column %q: neither petastorm's, in _common_metadata beside the shards, nor the features of Hugging Face's library; give its shape", name)
	}
	return optionsOfEncoding(name, f.Encoding)
}

// optionsOfEncoding are the options that make the tensors that petastorm makes.
func optionsOfEncoding(name string, e *column.Encoding) (o images.Options, err error) {
	switch picture := e.Codec == "CompressedImageCodec"; {
	case e.Shape == nil:
		return o, fmt.Errorf("column %q has files of type %v, of any size; give options with a size, for the column or for all pictures (\"*\")", name, e)
	case picture && e.Fixed() && len(e.Shape) == 3 && e.Shape[2] == 3 && (e.DType == string(images.Uint8) || e.DType == string(images.Uint16)):
		o = images.Options{Height: e.Shape[0], Width: e.Shape[1], Layout: images.HWC, DType: images.DType(e.DType), IgnoreOrientation: true, Exact: true}
	case picture:
		return o, fmt.Errorf("column %q is %v, and pictures of uint8 or uint16 and one shape (height, width, 3) are decoded as declared; give it options of its own, with a size", name, e)
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
