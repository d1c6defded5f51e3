package loader

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/iterable"
)

// Results of one column have crops by their own names, and their files leave the batch.
func TestResultsOfAColumn(t *testing.T) {
	rows := pictures(41)
	rows[7].Meta.Bytes = []byte("<html>")
	ds := openPictures(t, rows, iterable.Options{Losses: iterable.Losses{OnError: iterable.Skip, MaxLost: 0.5}})
	small, large := augmented(), augmented()
	small.Of, large.Of, large.Height = "meta.bytes", "meta.bytes", 9
	o := Options{BatchSize: 5, Epochs: 2, Images: map[string]images.Options{"small": small, "large": large}}
	for name, of := range o.Images {
		checkTensors(t, tensorsOf(t, ds, o, name), of, name, rows, 2, 1)
		several := o
		several.WorldSize, several.Workers, several.BatchSize = 2, 2, 3
		checkTensors(t, tensorsOf(t, ds, several, name), of, name, rows, 2, 1)
	}
	for b, err := range newShop(t, ds, o).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		meta, err := b.Column("meta")
		if err != nil {
			t.Fatal(err)
		}
		if len(meta.Children) != 1 || meta.Field.Children[0] != meta.Children[0].Field || meta.Children[0].Field.Name != "path" {
			t.Fatalf("the struct is %v, its array has %d members", meta.Field, len(meta.Children))
		}
		paths, ids := show(meta), values[int64](t, b, "id")
		if ids[0] != 0 && !strings.Contains(paths, ".png") {
			t.Errorf("the paths are %s", paths)
		}
		b.Release()
	}
}

// A column may also have an image of its own name, which does not change.
func TestResultsBesideTheirColumn(t *testing.T) {
	rows := pictures(23)
	ds := openPictures(t, rows, iterable.Options{})
	own, other := augmented(), augmented()
	other.Of = "img"
	o := Options{BatchSize: 5, Images: map[string]images.Options{"img": own, "other": other}}
	got := tensorsOf(t, ds, o, "img")
	checkTensors(t, got, own, "img", rows, 1, 0)
	same := 0
	for k, v := range tensorsOf(t, ds, o, "other") {
		if bytes.Equal(v, got[k]) {
			same++
		}
	}
	if same > 2 {
		t.Errorf("%d of 23 rows have the same crop under both names", same)
	}
}

func TestResultsSchema(t *testing.T) {
	small := func(of string) images.Options { return images.Options{Of: of, Height: 2, Width: 5} }
	const tensor = "list<list<list<uint8>[5]>[2]>[3]"
	for _, c := range []struct {
		name string
		all  map[string]images.Options
		want []string // of columns that the data does not have, or not so
	}{
		{"column", map[string]images.Options{"a": small("other"), "b": small("other")}, []string{"-other", "a " + tensor, "b " + tensor}},
		{"its own name", map[string]images.Options{"other": small("other")}, []string{"other " + tensor}},
		{"beside its column", map[string]images.Options{"other": {Height: 2, Width: 5}, "b": small("other")}, []string{"other " + tensor, "b " + tensor}},
		{"member", map[string]images.Options{"b": small("image.bytes")}, []string{"image struct<path: string, thumb: struct<bytes: binary>>", "b " + tensor}},
		{"member of a member", map[string]images.Options{"b": small("image.thumb.bytes")}, []string{"image struct<bytes: binary, path: string>", "b " + tensor}},
		{
			"members",
			map[string]images.Options{"a": small("image.thumb.bytes"), "b": small("image.bytes"), "image.bytes": {Height: 2, Width: 5}},
			[]string{"image struct<bytes: " + tensor + ", path: string>", "a " + tensor, "b " + tensor},
		},
		{"the name of its column", map[string]images.Options{"b": small("other"), "other": small("image.bytes")}, []string{"image struct<path: string, thumb: struct<bytes: binary>>", "other " + tensor, "b " + tensor}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Images: c.all}
			if err := o.Validate(); err != nil {
				t.Fatal(err)
			}
			s, err := o.Shape(imageSchema())
			if err != nil {
				t.Fatal(err)
			}
			var was, got []string
			for _, f := range imageSchema().Fields {
				was = append(was, f.Name+" "+f.String())
			}
			for _, f := range s.Schema().Fields {
				if text := f.Name + " " + f.String(); !slices.Contains(was, text) {
					got = append(got, text)
				}
			}
			if !slices.ContainsFunc(s.Schema().Fields, func(f *column.Field) bool { return f.Name == "other" }) {
				got = append([]string{"-other"}, got...)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestResultsRefused(t *testing.T) {
	of := func(column string) images.Options { return images.Options{Of: column} }
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"unknown", imageOf("small", of("pixels")), `Images["small"] does not apply: it is of "pixels": no such column is read; there is "label", "img", "image", "kind", "views", "other"`},
		{"struct", imageOf("small", of("image")), `Images["small"] does not apply: it is of "image": it is struct<bytes: binary, path: string, thumb: struct<bytes: binary>>; name the member that holds the file, as in "image.bytes"`},
		{"list", imageOf("small", of("views")), `Images["small"] does not apply: Of names columns with one image a row, and "views" is a column of lists`},
		{"taken", imageOf("label", of("other")), `Images["label"] must have another name: the batch has a column "label" already`},
		{"all", imageOf("*", of("other")), `Images["*"] is for all columns that a schema declares, and Of names one; give its result a name`},
		{
			"geometry",
			Options{Images: map[string]images.Options{"a": {Of: "other", Geometry: true}, "a_box": of("other")}},
			`Images["a_box"] must have another name: the batch has a column "a_box" already`,
		},
		{
			"fill",
			Options{Fill: []Fill{{"other", ""}}, Images: map[string]images.Options{"small": of("other")}},
			`Images["small"] contradicts Fill, which has the column too; leave one of the two out`,
		},
		{
			"stack",
			Options{Images: map[string]images.Options{"small": of("other")}, Features: Features{Stack: []Stack{{Name: "small", Columns: []string{"label"}}}}},
			`Stack["small"] must have another name: the batch has a column "small" already`,
		},
		{"array", imageOf("small", images.Options{Of: "other", Array: &images.Array{Shape: []int{1}, DType: "int8"}}), `Images["small"] is invalid: Array excludes the options of images`},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.o.Validate()
			if err == nil {
				err = c.o.Check(imageSchema())
			}
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}
