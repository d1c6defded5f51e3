package loader

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/boxes"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

// views of a file are, by the definition, images with the seeds of the following numbers.
func viewsOf(t *testing.T, o images.Options, data []byte, column string, epoch, row int64) (all []byte) {
	t.Helper()
	n := o.Views
	o.Views = 0
	a, err := images.New(o, new(codec.Go))
	if err != nil {
		t.Fatal(err)
	}
	for view := range n {
		dst := make([]byte, o.Bytes())
		if err := a.Apply(dst, data, ImageSeed(7, epoch, row, 0, column, view)); err != nil {
			t.Fatal(err)
		}
		all = append(all, dst...)
	}
	return all
}

// Each view of a row has the crop, flip and colors of its number, on any number of ranks, after a
// resume at every step, and beside lost rows.
func TestViews(t *testing.T) {
	rows := pictures(23)
	rows[7].Img = []byte("<html>")
	ds := openPictures(t, rows, iterable.Options{Losses: iterable.Losses{OnError: iterable.Mask, MaxLost: 0.5}})
	large, small := augmented(), augmented()
	large.Of, small.Of, large.Views, small.Views, large.Height = "img", "img", 2, 3, 9
	o := Options{BatchSize: 4, Epochs: 2, Images: map[string]images.Options{"large": large, "small": small}}
	check := func(b *Batch) {
		t.Helper()
		ids := values[int64](t, b, "id")
		for name, of := range o.Images {
			tensors := tensorBytes(t, b, name)
			if last := tensors[b.Rows-1]; b.Lost > 0 && !bytes.Equal(last, make([]byte, len(last))) {
				t.Errorf("step %d: the lost row has pixels", b.Step)
			}
			for i, got := range tensors[:b.Valid] {
				if !bytes.Equal(got, viewsOf(t, of, rows[ids[i]].Img, name, b.Epoch, ids[i])) {
					t.Fatalf("step %d: row %d has other views of %q", b.Step, ids[i], name)
				}
			}
		}
	}
	var states []shuffle.State
	for b, err := range newShop(t, ds, o).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		check(b)
		states = append(states, b.State)
		b.Release()
	}
	if len(states) != 12 {
		t.Fatalf("%d steps", len(states))
	}
	for _, state := range states {
		for rank := range 2 {
			o := o
			o.Rank, o.WorldSize, o.Workers, o.State = rank, 2, 2, &state
			for b, err := range newShop(t, ds, o).Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				check(b)
				b.Release()
			}
		}
	}
}

// Masks follow each view of their picture, and geometry has the box of each.
func TestMasksOfViews(t *testing.T) {
	rows := located(17)
	ds := openPictures(t, rows, iterable.Options{})
	all := pairOf("img", "meta.bytes")
	lead, mask := all["img"], all["meta.bytes"]
	lead.Views, lead.Geometry, mask.Geometry = 3, true, true
	o := Options{BatchSize: 5, Images: map[string]images.Options{"img": lead, "meta.bytes": mask}}
	for _, f := range o.GeometryFields() {
		if got := f.String(); f.Name == "meta_bytes_box" && got != "list<list<float>[4]>[3]" {
			t.Errorf("the boxes of a mask are %s", got)
		}
	}
	for b, err := range newShop(t, ds, o).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		pixels, masks := tensorBytes(t, b, "img"), tensorBytes(t, b, "meta.bytes")
		bounds, others := tensorBytes(t, b, "img_box"), tensorBytes(t, b, "meta_bytes_box")
		for i := range b.Rows {
			if len(masks[i]) != 3*30 || !bytes.Equal(bounds[i], others[i]) {
				t.Fatalf("a mask has %d bytes, and the box %v, its picture %v", len(masks[i]), others[i], bounds[i])
			}
			var box [3][4]float32
			if _, err := binary.Decode(bounds[i], binary.NativeEndian, &box); err != nil {
				t.Fatal(err)
			}
			for view := range 3 {
				picture, of := pixels[i][view*90:][:90], masks[i][view*30:][:30]
				for at, v := range of {
					if want := picture[at] + 16*picture[30+at]; v != want {
						t.Fatalf("view %d, pixel %d: the mask is of %d, the picture of %d", view, at, v, want)
					}
				}
				if left, top := min(box[view][0], box[view][2]), box[view][1]; float32(min(picture[0], picture[4])) != left || float32(picture[30]) != top {
					t.Errorf("view %d has the box %v", view, box[view])
				}
			}
		}
		b.Release()
	}
}

func TestViewsSchema(t *testing.T) {
	s, err := imageOf("other", images.Options{Height: 2, Width: 5, Views: 4, Layout: images.HWC}).Shape(imageSchema())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Schema().Fields[6].String(), "list<list<list<list<uint8>[3]>[5]>[2]>[4]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestViewsRefused(t *testing.T) {
	s := imageSchema()
	s.Fields = append(s.Fields, listed("box", 0, listed("item", 4, int32s("item"))))
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"list": {imageOf("views", images.Options{Views: 2}), `Images["views"] does not apply: Views are of columns with one image a row, and it is a column of lists`},
		"boxes": {
			Options{Images: map[string]images.Options{"other": {Views: 2}}, Boxes: map[string]boxes.Options{"box": {Of: "other"}}},
			`Boxes["box"] does not apply: it is of "other", which has 2 views, each with a crop of its own; boxes follow one`,
		},
		"array": {imageOf("other", images.Options{Views: 2, Array: &images.Array{Shape: []int{1}, DType: "int8"}}), `Images["other"] is invalid: Array excludes the options of images`},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.o.Validate()
			if err == nil {
				err = c.o.Check(s)
			}
			if fmt.Sprint(err) != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}
