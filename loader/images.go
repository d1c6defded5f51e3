package loader

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// An imageColumn is a column of files that become tensors: a column of the data, or a member of a
// struct. Or it is a column of lists of files or of structs with a file, which becomes lists of
// tensors.
type imageColumn struct {
	name    string        // in Options.Images
	added   bool          // it is a column of the batch beside the one with the files
	column  int           // of the data
	path    []int         // members of structs that lead to it from there
	list    *column.Field // of lists of tensors; nil: a row has one
	within  []int         // members of structs that lead to the file from a list's items
	options images.Options
	bytes   int           // of a file's tensor
	views   int           // that it consists of
	share   *imageShare   // nil: no other column or view has its files
	number  int           // of its random numbers, in place of a transform's
	like    string        // the column whose draw this one shares; "": it draws
	lead    int           // its place among the recipe's images; -1: it draws
	place   int           // its own place there
	alone   string        // why a device cannot make it; "": it can
	device  bool          // batches have files or tensors, and tasks; see ImageSplit
	divides int           // number of the random numbers that choose between the two
	field   *column.Field // of the tensors
}

// imageNumber separates the random numbers of an image column from others. It depends only on the
// name, so that adding an image column does not change the crops.
func imageNumber(name string) int {
	h := fnv.New64a()
	h.Write([]byte(name))
	return int(h.Sum64() | 1<<63)
}

// validateImages reports problems of the images that do not depend on the columns.
func validateImages(p *option.List, all map[string]images.Options) {
	for _, name := range sortedKeys(all) {
		field := fmt.Sprintf("Images[%q]", name)
		if name == "" {
			p.Add(field, "must name a column, got an empty name")
		}
		if name == allColumns && all[name].Of != "" {
			p.Add(field, "is for all columns that a schema declares, and {Of} names one; give its result a name")
		}
		invalid(p, field, all[name].Validate())
	}
}

// invalid reports the problems of the options in a field.
func invalid(p *option.List, field string, err error) {
	var several interface{ Unwrap() []error }
	if !errors.As(err, &several) {
		return
	}
	for _, problem := range several.Unwrap() {
		braced := option.Spelled(problem, func(field string) string { return "{" + field + "}" })
		p.Join(newProblem(field, "is invalid: "+braced))
	}
}

// imageFields are the types of tensors.
var imageFields = map[images.DType]column.Field{
	images.Uint16:   {Type: column.TypeUint16, Width: 2},
	"":              {Type: column.TypeUint8, Width: 1},
	images.Uint8:    {Type: column.TypeUint8, Width: 1},
	images.Float32:  {Type: column.TypeFloat32, Width: 4},
	images.Float16:  {Type: column.TypeFloat16, Width: 2},
	images.BFloat16: {Type: column.TypeBFloat16, Width: 2},
}

// imageField is a column of an image's tensors, as [AddTensor] makes it.
func imageField(name string, o images.Options) *column.Field {
	item := imageFields[o.DType]
	if o.Array != nil {
		t, _ := ParseNumberType(o.Array.DType) // Validate has refused others
		item = column.Field{Type: t, Width: rowgroup.CastWidth(t)}
	}
	f := &item
	f.Name = name
	for _, n := range slices.Backward(o.Shape()) {
		f = &column.Field{Name: name, Kind: column.List, ListSize: n, Children: []*column.Field{f}}
	}
	if o.Array != nil && len(o.Array.Shape) > 1 {
		f.Tensor = &column.Tensor{Shape: o.Array.Shape}
	}
	return f
}

// bindImages finds the columns of images.
func (b *binder) bindImages(all map[string]images.Options) {
	b.images = map[int][]*imageColumn{}
	all = b.declaredImages(all)
	for _, name := range sortedKeys(all) {
		field := fmt.Sprintf("Images[%q]", name)
		o, err := followed(all, name)
		if err != nil {
			b.problems.Add(field, "does not apply: %v", err)
			continue
		}
		m, err := b.image(o.Source(name), o)
		switch {
		case err != nil:
			if o.Of != "" {
				err = fmt.Errorf("it is of %q: %w", o.Of, err)
			}
			b.problems.Add(field, "does not apply: %v", err)
			continue
		case b.packs():
			b.problems.Add(field, "contradicts {Pack}, whose rows are blocks of tokens; leave one of the two out")
			continue
		}
		for _, other := range b.others(m.column, o.Source(name)) {
			b.problems.Add(field, "contradicts {"+other+"}, which has the column too; leave one of the two out")
		}
		if m.rename(name); m.added && m.list != nil {
			b.problems.Add(field, "does not apply: {Of} names columns with one image a row, and %q is a column of lists", o.Of)
			continue
		}
		if m.list != nil && o.Views > 0 {
			b.problems.Add(field, "does not apply: {Views} are of columns with one image a row, and it is a column of lists")
			continue
		}
		if m.like = all[name].Like; m.like != "" {
			m.number = imageNumber(m.like)
			if m.list != nil {
				b.problems.Add(field, "does not apply: {Like} pairs columns with one image a row, and it is a column of lists")
				continue
			}
		}
		b.checkGeometry(field, m)
		b.images[m.column] = append(b.images[m.column], m)
	}
	b.checkLeads()
}

// image finds the column with the files by its name.
func (b *binder) image(name string, o images.Options) (m *imageColumn, err error) {
	f, err := b.imageFile(name)
	file := f
	if f != nil && f.Kind == column.List {
		file = f.Children[0]
	}
	switch {
	case err != nil:
		return nil, errMany
	case f == nil || f.Made:
		return nil, notRead(name, b.data.Fields)
	case file.Kind == column.Struct:
		return nil, b.notFile(name, f, file)
	case file.Kind != column.Binary || f.Partition:
		return nil, fmt.Errorf("it is %v; images are files in a binary column", f)
	}
	m = &imageColumn{name: name, options: o, lead: -1, bytes: o.Bytes(), views: max(1, o.Views), number: imageNumber(name), field: imageField(file.Name, o)}
	if err := b.placeImage(m, file); err != nil {
		return nil, err
	}
	switch m.alone = o.NoTasks(); {
	case m.list != nil:
		m.alone = "it has lists of images"
	case m.alone == "" && m.bytes > mostOnDevice:
		m.alone = "its tensors are too large"
	}
	if b.divides && m.alone == "" {
		m.onDevice()
	}
	return m, nil
}

// rename gives a result the name of its options.
func (m *imageColumn) rename(name string) {
	if m.added = name != m.name; m.added {
		m.name, m.number, m.field = name, imageNumber(name), imageField(name, m.options)
	}
}

// imageFile finds a column, or a member of structs or of lists of structs, by its dotted name.
func (b *binder) imageFile(name string) (*column.Field, error) {
	return column.Find(b.data.Fields, name, func(f *column.Field) (*column.Field, []*column.Field) {
		items := f
		if f.Kind == column.List {
			items = f.Children[0]
		}
		if items.Kind != column.Struct {
			return f, nil
		}
		return f, items.Children
	})
}

// notFile is the error about a name of structs. It advises only a member that images can be in.
func (b *binder) notFile(name string, f, file *column.Field) error {
	if err := b.placeImage(&imageColumn{}, file); err != nil {
		return err
	}
	for _, member := range file.Children {
		path := name + "." + member.Name
		if _, err := b.image(path, images.Options{}); err == nil && member.Type == column.TypeBinary {
			return fmt.Errorf("it is %v; name the member that holds the file, as in %q", f, path)
		}
	}
	return fmt.Errorf("it is %v; name the member that holds the file", f)
}

// placeImage finds the way to the field of an image's file.
func (b *binder) placeImage(m *imageColumn, file *column.Field) error {
	for i, root := range b.data.Fields {
		if path, ok := pathTo(root, file); ok {
			m.column, m.path = i, path
			return nil
		}
		if root.Kind != column.List {
			continue
		}
		if within, ok := pathTo(root.Children[0], file); ok {
			if b.images[i] != nil {
				return fmt.Errorf("column %q has images of {Images[%q]} already, and lists have one image an item", root.Name, b.images[i][0].name)
			}
			m.field = imageField(root.Children[0].Name, m.options)
			list := *root
			list.Children, list.Tensor = []*column.Field{m.field}, nil
			m.column, m.list, m.within = i, &list, within
			return nil
		}
	}
	return fmt.Errorf("it is %v in a list within another column; images are in columns, in structs, and in columns of lists", file)
}

// filePath returns the path from the column to the file, as places of children.
func (m *imageColumn) filePath() []int {
	if m.list == nil {
		return m.path
	}
	return append([]int{0}, m.within...)
}

// rowBytes is the mean bytes of a row's tensors, or of its files where these may be larger.
func (m *imageColumn) rowBytes(of *rowgroup.Reader) int64 {
	items, files := int64(0), int64(0)
	for g := range of.Groups() {
		if m.list != nil {
			items += of.Items(g, m.column)
		} else if m.device {
			files += of.FileBytes(g, m.column, m.path)
		}
	}
	rows := max(1, of.NumRows())
	switch mean := func(n int64) int64 { return (n + rows - 1) / rows }; {
	case m.list != nil:
		return mean(items) * int64(m.bytes)
	case m.device:
		return max(int64(m.bytes), mean(files)) + deviceAlign + 4*(taskInts+1) + 8
	}
	return int64(m.bytes)
}

// pathTo returns the path to a node, as places of struct members.
func pathTo(from, to *column.Field) (path []int, ok bool) {
	if from == to {
		return nil, true
	}
	if from.Kind != column.Struct {
		return nil, false
	}
	for i, c := range from.Children {
		if below, ok := pathTo(c, to); ok {
			return append([]int{i}, below...), true
		}
	}
	return nil, false
}

// packs reports whether rows of the data are packed.
func (b *binder) packs() bool {
	last := len(b.data.Fields) - 1
	return last >= 0 && b.data.Fields[last].Made && b.data.Fields[last].Name == rowgroup.LengthsColumn
}

// others returns the options that change a column in another way.
func (b *binder) others(at int, name string) (fields []string) {
	note := func(field string, has bool) {
		if has {
			fields = append(fields, field)
		}
	}
	_, cast := b.casts[at]
	_, hash := b.hashes[at]
	_, scale := b.scales[at]
	note("Cast", cast)
	note("Hash", hash)
	note("Scale", scale)
	note("Stack", b.stacked[at] != "")
	note("Fill", slices.ContainsFunc(b.fills, func(f Fill) bool { return f.Column == name }))
	return fields
}

// goDecoder is the decoder of Options.ImageDecoder when it is nil.
func goDecoder() (codec.Decoder, error) { return new(codec.Go), nil }
