package loader

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/iterable"
)

// located are pictures and masks that say where each pixel was: red and green of a picture, and the
// gray of its mask.
func located(n int) []picture {
	rows := pictures(n)
	for i := range rows {
		width, height := 13+i%5, 11+i%7
		m, mask := image.NewRGBA(image.Rect(0, 0, width, height)), image.NewGray(image.Rect(0, 0, width, height))
		for y := range height {
			for x := range width {
				m.SetRGBA(x, y, color.RGBA{uint8(x), uint8(y), uint8(i), 255})
				mask.SetGray(x, y, color.Gray{uint8(x + 16*y)})
			}
		}
		rows[i].Img, rows[i].Meta.Bytes = encodedPNG(m), encodedPNG(mask)
	}
	return rows
}

func encodedPNG(m image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// pairOf are a picture and its mask, whichever of the two comes first among the columns.
func pairOf(lead, mask string) map[string]images.Options {
	drawn := images.Options{Height: 6, Width: 5, Crop: images.CropRandomResized, Flip: 0.5, Interpolation: images.Nearest}
	return map[string]images.Options{lead: drawn, mask: {Like: lead, Channels: 1, Interpolation: images.Nearest}}
}

// A mask has the crop and the flip of its picture, on any number of ranks and after a resume.
func TestMasksFollow(t *testing.T) {
	rows := located(41)
	ds := openPictures(t, rows, iterable.Options{})
	o := Options{BatchSize: 4, Epochs: 2, Images: pairOf("img", "meta.bytes")}
	seen := 0
	check := func(o Options, n int) {
		t.Helper()
		for b, err := range newShop(t, ds, o).Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			pixels, masks := tensorBytes(t, b, "img"), tensorBytes(t, b, "meta.bytes")
			for i := range b.Rows {
				if len(masks[i]) != 30 {
					t.Fatalf("a mask has %d bytes", len(masks[i]))
				}
				for at, v := range masks[i] {
					if want := pixels[i][at] + 16*pixels[i][30+at]; v != want {
						t.Fatalf("step %d, row %d, pixel %d: the mask is of %d, the picture of %d", b.Step, i, at, v, want)
					}
				}
			}
			if seen++; seen == n {
				o.State = &b.State
			}
			b.Release()
		}
	}
	check(o, 0)
	if seen != 22 {
		t.Errorf("%d batches", seen)
	}
	o.WorldSize, o.Workers = 2, 2
	check(o, 0)
}

// The crops of a picture do not depend on what follows it.
func TestFollowersDoNotChangeCrops(t *testing.T) {
	rows := located(23)
	ds := openPictures(t, rows, iterable.Options{})
	all := pairOf("meta.bytes", "img")
	o := all["meta.bytes"]
	o.Channels = 1
	all = map[string]images.Options{"meta.bytes": o, "img": {Like: "meta.bytes", Interpolation: images.Nearest}}
	checkTensors(t, tensorsOf(t, ds, Options{BatchSize: 6, Images: all}, "meta.bytes"), o, "meta.bytes", rows, 1, 0)
}

// A mask of another size than its picture is a lost row.
func TestMasksOfAnotherSize(t *testing.T) {
	rows := located(30)
	rows[17].Meta.Bytes = encodedPNG(image.NewGray(image.Rect(0, 0, 3, 4)))
	ds := openPictures(t, rows, iterable.Options{})
	o := Options{BatchSize: 6, Images: pairOf("img", "meta.bytes")}
	_, err := steps(t.Context(), newShop(t, ds, o))
	if err == nil || !strings.Contains(err.Error(), `the picture is 3 x 4, and column "img", whose crop it shares, has one of 15 x 14`) {
		t.Errorf("got %v", err)
	}
}

func TestLikeRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		all  map[string]images.Options
		want string
	}{
		{"unknown", map[string]images.Options{"other": {Like: "img"}}, `Images["other"] does not apply: it is like "img", which is not among the images; name the column that draws`},
		{"itself", map[string]images.Options{"other": {Like: "other"}}, `Images["other"] does not apply: it is like "other": that column shares the draw of "other"; name that one`},
		{"array", map[string]images.Options{"other": {Like: "image.bytes"}, "image.bytes": {Array: &images.Array{Shape: []int{1}, DType: "int8"}}}, `Images["other"] does not apply: it is like "image.bytes": that column has arrays, or is decoded as it is declared: nothing of it is drawn`},
		{"a list follows", map[string]images.Options{"views": {Like: "other"}, "other": {}}, `Images["views"] does not apply: Like pairs columns with one image a row, and it is a column of lists`},
		{"a list leads", map[string]images.Options{"other": {Like: "views"}, "views": {}}, `Images["other"] does not apply: it is like "views", a column of lists, and Like pairs columns with one image a row`},
		{"size", map[string]images.Options{"other": {Like: "image.bytes", Height: 3}, "image.bytes": {}}, `Images["other"] is invalid: Like shares the size, the views, the crop, the flip and the orientation of column "image.bytes"; leave out Height, Width, Views, Crop, Resize, Scale, Ratio, Flip and IgnoreOrientation`},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Images: c.all}
			err := o.Validate()
			if err == nil {
				err = o.Check(imageSchema())
			}
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// Sizes and boxes are columns of the batch, in the rows that count, also after others were lost.
func TestGeometry(t *testing.T) {
	rows := located(41)
	rows[7].Img = []byte("<html>")
	ds := openPictures(t, rows, iterable.Options{Losses: iterable.Losses{OnError: iterable.Mask, MaxLost: 0.5}})
	o := pairOf("img", "meta.bytes")
	for name, of := range o {
		of.Geometry = true
		o[name] = of
	}
	lost := 0
	for b, err := range newShop(t, ds, Options{BatchSize: 6, Workers: 1, Images: o}).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		lost += b.Lost
		pixels, ids := tensorBytes(t, b, "img"), values[int64](t, b, "id")
		sizes, boxes, others := tensorBytes(t, b, "img_size"), tensorBytes(t, b, "img_box"), tensorBytes(t, b, "meta_bytes_box")
		for i := range b.Valid {
			var size [2]int32
			var box [4]float32
			if _, err := binary.Decode(sizes[i], binary.NativeEndian, &size); err != nil {
				t.Fatal(err)
			}
			if _, err := binary.Decode(boxes[i], binary.NativeEndian, &box); err != nil {
				t.Fatal(err)
			}
			n := int32(ids[i])
			if size != [2]int32{11 + n%7, 13 + n%5} || !bytes.Equal(boxes[i], others[i]) {
				t.Errorf("row %d has the size %v, and the box %v", n, size, box)
			}
			left := min(box[0], box[2])
			if at := slices.Min(pixels[i][:30]); float32(at) != left || float32(slices.Min(pixels[i][30:60])) != box[1] {
				t.Errorf("row %d has the box %v, and its first pixel is %d", n, box, at)
			}
		}
		for _, none := range boxes[b.Valid:] {
			if !bytes.Equal(none, make([]byte, 16)) {
				t.Errorf("a lost row has the box %v", none)
			}
		}
		b.Release()
	}
	if lost != 1 {
		t.Errorf("%d rows are lost", lost)
	}
}

func TestGeometryRefused(t *testing.T) {
	s := imageSchema()
	s.Fields = append(s.Fields, int32s("other_size"))
	for name, want := range map[string]string{
		"other": `Images["other"] adds the columns "other_size" and "other_box" for Geometry, and the data has one of them: leave it out of Columns`,
		"views": `Images["views"] does not apply: Geometry is of columns with one image a row, and it is a column of lists`,
	} {
		if err := imageOf(name, images.Options{Geometry: true}).Check(s); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
