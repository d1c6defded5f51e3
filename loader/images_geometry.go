package loader

import (
	"cmp"
	"image"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images"
)

// geometryNames returns the columns that Geometry adds to an image column: the size of the picture,
// height and width, and the box that the result shows. Dots of a member's path become underscores.
func geometryNames(name string) (size, box string) {
	name = strings.ReplaceAll(name, ".", "_")
	return name + "_size", name + "_box"
}

// GeometryFields returns the columns that images.Options.Geometry adds to batches.
func (o Options) GeometryFields() (all []*column.Field) {
	for _, name := range sortedKeys(o.Images) {
		if !o.Images[name].Geometry {
			continue
		}
		size, box := geometryNames(name)
		boxes := column.FieldOf[float32](box)
		for _, n := range slices.Backward(boxDims(o.Images[cmp.Or(o.Images[name].Like, name)])) {
			boxes = addedList(n, boxes)
		}
		all = append(all, addedList(2, column.FieldOf[int32](size)), boxes)
	}
	return all
}

// boxDims are the dimensions of a row's boxes: one for each view.
func boxDims(o images.Options) []int {
	if o.Views > 0 {
		return []int{o.Views, 4}
	}
	return []int{4}
}

// addedList is a column of n values a row that the loader adds.
func addedList(n int, f *column.Field) *column.Field {
	return &column.Field{Name: f.Name, Kind: column.List, ListSize: n, Made: true, Children: []*column.Field{f}}
}

// checkGeometry refuses the geometry of lists, and names that the data has.
func (b *binder) checkGeometry(field string, m *imageColumn) {
	if !m.options.Geometry {
		return
	}
	size, box := geometryNames(m.name)
	if slices.ContainsFunc(b.data.Fields, func(f *column.Field) bool { return f.Name == size || f.Name == box }) {
		b.problems.Add(field, "adds the columns %q and %q for {Geometry}, and the data has one of them: leave it out of {Columns}", size, box)
	}
	if m.list != nil {
		b.problems.Add(field, "does not apply: {Geometry} is of columns with one image a row, and it is a column of lists")
	}
}

// addGeometry adds the columns that Geometry asks for: zeros in rows that do not count and for null
// images.
func (c *collator) addGeometry(b *Batch) error {
	for _, name := range c.geometry {
		size, box := geometryNames(name)
		sizes, err := AddTensor[int32](b, size, 2)
		if err != nil {
			return err
		}
		m := c.images[slices.IndexFunc(c.images, func(m *imageColumn) bool { return m.name == name })]
		boxes, err := AddTensor[float32](b, box, boxDims(m.options)...)
		if err != nil {
			return err
		}
		for row := range b.Valid {
			of := c.job.sizes[m.place][row]
			if of == (image.Point{}) { // the row has no picture
				continue
			}
			sizes[2*row], sizes[2*row+1] = int32(of.Y), int32(of.X)
			for view := range m.views {
				for i, v := range c.viewOf(m, row, view) {
					boxes[4*(row*m.views+view)+i] = float32(v)
				}
			}
		}
	}
	return nil
}

// viewOf returns the part of a row's picture that a view of it shows.
func (c *collator) viewOf(m *imageColumn, row, view int) [4]float64 {
	seed, _ := c.names.keyOf(row, m.number+view).pcg()
	return m.options.View(c.job.sizes[m.place][row], seed)
}

// geometryOf lists the columns with Geometry, sorted.
func geometryOf(all map[string]images.Options) (names []string) {
	for _, name := range sortedKeys(all) {
		if all[name].Geometry {
			names = append(names, name)
		}
	}
	return names
}
