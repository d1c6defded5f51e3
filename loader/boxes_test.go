package loader

import (
	"fmt"
	"image"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/boxes"
	"github.com/shardfeed/shardfeed/iterable"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
)

// A thing is a box in the structs of a list.
type thing struct {
	BBox []float32 `parquet:"bbox,list"`
	Kind *string   `parquet:"kind,optional"`
}

// A scene is a picture with boxes in all the ways in which columns have them.
type scene struct {
	ID     int64       `parquet:"id"`
	Img    []byte      `parquet:"img,optional"`
	Boxes  [][]float64 `parquet:"boxes,list"`
	Labels []int64     `parquet:"labels,list"`
	Names  []string    `parquet:"names,list"`
	Flat   []int32     `parquet:"flat,list"` // x, y, width, height of all
	Points [][]float32 `parquet:"points,list"`
	Things []thing     `parquet:"things,list"`
	Told   struct {
		Middle [][]float64 `parquet:"middle,list"` // x, y, width, height
		Masks  [][]int32   `parquet:"masks,list"`
	} `parquet:"told"`
}

// scenes are rows of 0 to 4 boxes with whole numbers.
func scenes(n int) []scene {
	rows := make([]scene, n)
	for i := range rows {
		r := &rows[i]
		width, height := 13+i%5, 11+i%7
		r.ID, r.Img = int64(i), encodedPNG(image.NewGray(image.Rect(0, 0, width, height)))
		for k := range i % 5 {
			x, y := (3*i+5*k)%width, (2*i+3*k)%height
			w, h := 1+(i+k)%6, 1+(i+2*k)%5
			r.Boxes = append(r.Boxes, []float64{float64(x), float64(y), float64(x + w), float64(y + h)})
			r.Flat = append(r.Flat, int32(x), int32(y), int32(w), int32(h))
			r.Told.Middle = append(r.Told.Middle, []float64{float64(x) + float64(w)/2, float64(y) + float64(h)/2, float64(w), float64(h)})
			r.Labels = append(r.Labels, int64(10*i+k))
			r.Names = append(r.Names, strings.Repeat(fmt.Sprint(k), k))
			r.Told.Masks = append(r.Told.Masks, make([]int32, k))
			r.Points = append(r.Points, []float32{float32(x), float32(y), 2, float32(x + w), float32(y + h), 1})
			t := thing{BBox: []float32{float32(x), float32(y), float32(x + w), float32(y + h)}}
			if k%2 == 1 {
				kind := fmt.Sprint(i, ".", k)
				t.Kind = &kind
			}
			r.Things = append(r.Things, t)
		}
	}
	return rows
}

func openScenes(t *testing.T, rows []scene, o iterable.Options) *iterable.Dataset {
	t.Helper()
	store := &memstore.Store{}
	putPictures(t, store, "data", rows)
	o.Shuffle, o.ShuffleBuffer.Rows = true, 30
	return openPicturesOf(t, store, []string{"mem://data/"}, o)
}

// sceneOptions move all boxes of scenes.
func sceneOptions() Options {
	of := images.Options{Height: 12, Width: 15, Crop: images.CropRandomResized, Scale: images.Range{0.2, 1}, Flip: 0.5, Geometry: true}
	return Options{BatchSize: 4, Epochs: 2, Images: map[string]images.Options{"img": of}, Boxes: map[string]boxes.Options{
		"boxes":       {Of: "img", MinSize: 2, DropWith: []string{"labels", "names", "told.masks", "points"}},
		"flat":        {Of: "img", MinSize: 2, Format: boxes.XYWH},
		"told.middle": {Of: "img", MinSize: 2, Format: boxes.CXCYWH},
		"things.bbox": {Of: "img", MinSize: 2},
		"points":      {Of: "img", Format: boxes.XYV, KeepAll: true, Unclipped: true},
	}}
}

// listTexts are the lists of a column, or of a node within it, as text.
func listTexts(t *testing.T, b *Batch, name string) []string {
	t.Helper()
	a, err := b.Column(name)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]string, a.Len)
	for i := range all {
		all[i] = textOf(t, a, i)
	}
	return all
}

func textOf(t *testing.T, a *column.Array, i int) string {
	t.Helper()
	if a.IsNull(i) {
		return "null"
	}
	var parts []string
	switch a.Field.Kind {
	case column.List:
		lo, hi := a.Items(i)
		for k := lo; k < hi; k++ {
			parts = append(parts, textOf(t, a.Children[0], k))
		}
	case column.Struct:
		for _, c := range a.Children {
			parts = append(parts, textOf(t, c, i))
		}
	case column.Binary:
		return string(a.Data[a.Offsets[i]:a.Offsets[i+1]])
	default:
		if a.Field.Type == column.TypeFloat32 {
			v, err := column.Values[float32](a)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%.3f", v[i]+0) // no -0
		}
		if a.Field.Type == column.TypeInt64 {
			v, err := column.Values[int64](a)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(v[i])
		}
		return "v"
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// wantScene is what the columns of a row must be, of the box that its image shows.
func wantScene(r scene, view []float32) map[string]string {
	at := func(x, y float64) (float64, float64) {
		return (x - float64(view[0])) * 15 / float64(view[2]-view[0]), (y - float64(view[1])) * 12 / float64(view[3]-view[1])
	}
	all := map[string][]string{"boxes": {}, "flat": {}, "told.middle": {}, "labels": {}, "names": {}, "told.masks": {}, "things": {}, "points": {}}
	list := func(format string, v ...any) string { return fmt.Sprintf("["+format+"]", v...) }
	for k, b := range r.Boxes {
		x0, y0 := at(b[0], b[1])
		x1, y1 := at(b[2], b[3])
		px0, px1, seen0, seen1 := x0, x1, 2., 1.
		if x0 > x1 {
			x0, x1 = x1, x0
			px0, px1 = px0-1, px1-1
		}
		point := func(x, y float64, seen *float64) (float64, float64) {
			if x < 0 || x >= 15 || y < 0 || y >= 12 {
				*seen = 0
				return 0, 0
			}
			return x, y
		}
		px0, py0 := point(px0, y0, &seen0)
		px1, py1 := point(px1, y1, &seen1)
		x0, x1, y0, y1 = max(0, min(x0, 15)), max(0, min(x1, 15)), max(0, min(y0, 12)), max(0, min(y1, 12))
		if x1-x0 < 2 || y1-y0 < 2 {
			continue
		}
		box := list("%.3f %.3f %.3f %.3f", x0, y0, x1, y1)
		kind := "null"
		if r.Things[k].Kind != nil {
			kind = *r.Things[k].Kind
		}
		for name, text := range map[string]string{
			"boxes": box, "flat": list("%.3f %.3f %.3f %.3f", x0, y0, x1-x0, y1-y0), "told.middle": list("%.3f %.3f %.3f %.3f", (x0+x1)/2, (y0+y1)/2, x1-x0, y1-y0),
			"labels": fmt.Sprint(r.Labels[k]), "names": r.Names[k], "told.masks": list(strings.TrimSpace(strings.Repeat("v ", k))), "things": list("%s %s", box, kind),
			"points": list("%.3f %.3f %.3f %.3f %.3f %.3f", px0, py0, seen0, px1, py1, seen1),
		} {
			all[name] = append(all[name], text)
		}
	}
	texts := map[string]string{}
	for name, items := range all {
		texts[name] = list("%s", strings.Join(items, " "))
	}
	return texts
}

// near reports whether two texts have the same words, and nearly the same numbers.
func near(a, b string) bool {
	return slices.EqualFunc(strings.Fields(a), strings.Fields(b), func(a, b string) bool {
		var x, y float64
		if strings.Trim(a, "[]0123456789.-") != "" || strings.Count(a, "[") != strings.Count(b, "[") || strings.Count(a, "]") != strings.Count(b, "]") {
			return a == b
		}
		fmt.Sscan(strings.Trim(a, "[]"), &x)
		fmt.Sscan(strings.Trim(b, "[]"), &y)
		return math.Abs(x-y) < 0.0021
	})
}

// Boxes and points follow the crop and the flip of their picture, and boxes that fall out take the
// items of other lists with them, on any number of ranks and after a resume.
func TestBoxesFollow(t *testing.T) {
	rows := scenes(53)
	ds := openScenes(t, rows, iterable.Options{})
	o := sceneOptions()
	seen, dropped, kept := 0, 0, 0
	check := func(o Options, n int) {
		t.Helper()
		for b, err := range newShop(t, ds, o).Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			ids, views := values[int64](t, b, "id"), values[float32](t, b, "img_box")
			got := map[string][]string{}
			for i, id := range ids {
				for name, want := range wantScene(rows[id], views[4*i:4*i+4]) {
					if got[name] == nil {
						got[name] = listTexts(t, b, name)
					}
					if !near(got[name][i], want) {
						t.Fatalf("step %d, row %d, %s:\n%s, want\n%s", b.Step, id, name, got[name][i], want)
					}
				}
				kept += strings.Count(got["things"][i], "[") / 2
				dropped += len(rows[id].Boxes) - strings.Count(got["things"][i], "[")/2
			}
			if seen++; seen == n {
				o.State = &b.State
			}
			b.Release()
		}
	}
	check(o, 0)
	if seen != 28 || dropped < 40 || kept < 40 {
		t.Errorf("%d batches, %d boxes dropped, %d kept", seen, dropped, kept)
	}
	o.WorldSize, o.Workers, o.BatchSize = 2, 2, 3
	check(o, 0)
}

// The numbers of padded boxes are dense, and lost rows have no boxes.
func TestBoxesPaddedAndLost(t *testing.T) {
	rows := scenes(20)
	for _, i := range []int{3, 7, 13} {
		rows[i].Img = []byte("<html>")
	}
	ds := openScenes(t, rows, iterable.Options{Losses: iterable.Losses{OnError: iterable.Mask, MaxLost: 0.5}})
	o := sceneOptions()
	o.Epochs, o.Pad = 1, []Padding{{Column: "boxes", Value: -1}}
	lost := 0
	for b, err := range newShop(t, ds, o).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids, views, lengths, padded := values[int64](t, b, "id"), values[float32](t, b, "img_box"), values[int32](t, b, "boxes_lengths"), values[float32](t, b, "boxes")
		a, err := b.Column("boxes")
		if err != nil {
			t.Fatal(err)
		}
		shape := column.Shape(a)
		for i, id := range ids {
			want := 0
			if i < b.Valid {
				all := wantScene(rows[id], views[4*i:4*i+4])
				want = strings.Count(all["boxes"], "[") - 1
				if got := listTexts(t, b, "flat")[i]; !near(got, all["flat"]) {
					t.Errorf("row %d has %s, want %s", id, got, all["flat"])
				}
			} else {
				lost++
			}
			if int(lengths[i]) != want {
				t.Errorf("row %d has %d boxes, want %d", id, lengths[i], want)
			}
			for k, v := range padded[4*i*shape[1] : 4*(i+1)*shape[1]] {
				if (k/4 >= want) != (v == -1) {
					t.Errorf("row %d has %v at %d, and %d boxes", id, v, k, want)
				}
			}
		}
		b.Release()
	}
	if lost != 3 {
		t.Errorf("%d lost rows", lost)
	}
}

// Rows by number have the boxes that streams have.
func TestBoxesOfMaps(t *testing.T) {
	rows := scenes(20)
	ds, o := openScenes(t, rows, iterable.Options{}), sceneOptions()
	m := newShopMap(t, ds, MapOptions{Images: o.Images, Boxes: o.Boxes})
	b, err := m.Batch(t.Context(), []int64{4, 14, 9})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	views := values[float32](t, b, "img_box")
	for i, id := range values[int64](t, b, "id") {
		if got, want := listTexts(t, b, "boxes")[i], wantScene(rows[id], views[4*i:4*i+4])["boxes"]; !near(got, want) {
			t.Errorf("row %d has %s, want %s", id, got, want)
		}
	}
}

func TestBoxesOfOtherLengths(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *scene)
		want   string
	}{
		"box":    {func(r *scene) { r.Boxes[1] = r.Boxes[1][:3] }, `it has a list of 3 numbers, and format xyxy has 4`},
		"labels": {func(r *scene) { r.Labels = r.Labels[:1] }, `it has a list of 1 items, and must have as many, 3, as "boxes", whose boxes it is dropped with`},
	} {
		t.Run(name, func(t *testing.T) {
			rows := scenes(20)
			c.change(&rows[13])
			o := sceneOptions()
			_, err := steps(t.Context(), newShop(t, openScenes(t, rows, iterable.Options{}), o))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "row 3: ") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestBoxesRefused(t *testing.T) {
	s := imageSchema()
	floats := func(n int) *column.Field {
		return listed("item", n, &column.Field{Name: "item", Kind: column.Fixed, Type: column.TypeFloat32, Width: 4})
	}
	named := func(name string, f *column.Field) *column.Field {
		to := *f
		to.Name = name
		return &to
	}
	s.Fields = append(s.Fields, listed("boxes", 0, floats(0)), listed("fives", 0, floats(5)), listed("three", 3, floats(4)), named("one", floats(4)), listed("words", 0, texts("item")),
		listed("labels", 0, int32s("item")), listed("deep", 0, listed("item", 0, floats(4))), named("flat", floats(0)))
	of := boxes.Options{Of: "other"}
	with := func(names ...string) boxes.Options { return boxes.Options{Of: "other", DropWith: names} }
	for _, c := range []struct {
		name string
		all  map[string]boxes.Options
		want string
	}{
		{"good", map[string]boxes.Options{"boxes": with("labels", "words", "views"), "one": {Of: "other", KeepAll: true}, "three": {Of: "other", KeepAll: true}, "flat": of}, ""},
		{"options", map[string]boxes.Options{"boxes": {MinSize: -1, Of: "other"}}, `Boxes["boxes"] is invalid: MinSize must be a number of at least 0, got -1`},
		{"of nothing", map[string]boxes.Options{"boxes": {Of: "img"}}, `Boxes["boxes"] does not apply: it is of "img", which must be a column of Images with one picture a row`},
		{"no column", map[string]boxes.Options{"box": of}, `Boxes["box"] does not apply: no such column is read; there is "boxes"`},
		{"no list", map[string]boxes.Options{"label": of}, `Boxes["label"] does not apply: column "label" is int32, and must be a list`},
		{"words", map[string]boxes.Options{"words": of}, `Boxes["words"] does not apply: column "words" is list<string>; boxes are numbers`},
		{"fives", map[string]boxes.Options{"fives": of}, `Boxes["fives"] does not apply: column "fives" is list<list<float>[5]>; boxes are 4 numbers each`},
		{"deep", map[string]boxes.Options{"deep": of}, `Boxes["deep"] does not apply: column "deep" is list<list<list<float>[4]>>; boxes are 4 numbers each`},
		{"one a row", map[string]boxes.Options{"one": of}, `Boxes["one"] does not apply: column "one" has one box a row, which cannot be dropped; give KeepAll`},
		{"declared", map[string]boxes.Options{"three": of}, `Boxes["three"] does not apply: items are dropped from ragged lists, and column "three" is list<list<float>[4]>[3]; give KeepAll`},
		{"twice", map[string]boxes.Options{"boxes": with("labels"), "flat": with("labels")}, `Boxes["flat"] does not apply: the items of column "labels" are dropped with other boxes already`},
		{"with a number", map[string]boxes.Options{"boxes": with("label")}, `Boxes["boxes"] does not apply: DropWith "label": column "label" is int32, and must be a list`},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := imageOf("other", images.Options{})
			o.Boxes = c.all
			err := o.Validate()
			if err == nil {
				err = o.Check(s)
			}
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	o := imageOf("other", images.Options{})
	o.Boxes, o.Features.Cast = map[string]boxes.Options{"boxes": of}, map[string]DType{"boxes": {Type: column.TypeInt32}}
	if err := o.Check(s); err == nil || err.Error() != `Boxes["boxes"] contradicts Cast, which has the column too; leave one of the two out` {
		t.Errorf("got %v", err)
	}
}
