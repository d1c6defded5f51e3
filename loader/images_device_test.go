package loader

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A deviceRow is a row of a column with a device: its task and its bytes, without what the time
// of its decoding changes.
type deviceRow struct {
	task images.Task
	data string
}

// deviceRowsOf are the rows of a column by epoch and id, on all ranks, each of which counts.
func deviceRowsOf(t *testing.T, ds *iterable.Dataset, o Options, name string) map[[2]int64]deviceRow {
	t.Helper()
	all := map[[2]int64]deviceRow{}
	for o.Rank = range max(1, o.WorldSize) {
		for b, err := range newShop(t, ds, o).Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			rows := rowsOfDevice(t, b, name)
			for i, id := range values[int64](t, b, "id")[:b.Valid] {
				all[[2]int64{b.Epoch, id}] = rows[i]
			}
			b.Release()
		}
	}
	return all
}

// rowsOfDevice checks the layout of a column with a device.
func rowsOfDevice(t *testing.T, b *Batch, name string) (rows []deviceRow) {
	t.Helper()
	a, err := b.Column(name)
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := b.Column(name + DeviceSuffix)
	if err != nil {
		t.Fatal(err)
	}
	data := a.Children[0].Data
	for i, k := range mem.As[images.Task](leafOf(tasks).Data) {
		lo, hi := a.Items(i)
		own := data[lo:hi]
		if lo%16 != 0 || hi%16 != 0 || len(own) != (int(k.Bytes)+15)&^15 || bytes.Count(own[k.Bytes:], []byte{0}) != len(own)-int(k.Bytes) {
			t.Fatalf("row %d is at %d to %d: %v", i, lo, hi, own)
		}
		if k.Kind == images.TaskDone {
			k.Width = 0
		}
		rows = append(rows, deviceRow{k, string(own[:k.Bytes])})
	}
	if numbers := values[int64](t, b, DeviceRows); !slices.Equal(numbers, values[int64](t, b, "id")) { // of the tests' rows
		t.Errorf("the rows have the numbers %v", numbers)
	}
	if len(rows) != b.Rows || a.Len != b.Rows {
		t.Fatalf("%d rows of bytes and %d tasks in a batch of %d rows", a.Len, len(rows), b.Rows)
	}
	return rows
}

// taskOf is the task of a row by the definition.
func taskOf(t *testing.T, o images.Options, data []byte, column string, epoch, row int64) images.Task {
	t.Helper()
	h, err := codec.ReadHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	p := o.Draw(h.Width, h.Height, ImageSeed(7, epoch, row, 0, column, 0))
	flip := int32(0)
	if p.Flip {
		flip = 1
	}
	k := images.Task{
		Kind: images.TaskJPEG, Width: int32(h.Width), Height: int32(h.Height), Orientation: 1, Components: 3, Luma: 0x22, Bytes: int32(len(data)), Flip: flip,
		Box:  [4]int32{int32(p.Box.Min.X), int32(p.Box.Min.Y), int32(p.Box.Max.X), int32(p.Box.Max.Y)},
		Size: [2]int32{int32(p.Size.X), int32(p.Size.Y)}, At: [2]int32{int32(p.At.X), int32(p.At.Y)},
	}
	for i := range 4 {
		k.Order[i], k.Factor[i] = int32(p.Order[i]), float32(p.Factor[i])
	}
	return k
}

// checkDevice compares rows with the definition, and returns how many of them are files. In 0
// epochs they are not all.
func checkDevice(t *testing.T, got map[[2]int64]deviceRow, o images.Options, name string, rows []picture, epochs int) (files int) {
	t.Helper()
	if epochs > 0 && len(got) != epochs*len(rows) {
		t.Errorf("%d rows, want %d", len(got), epochs*len(rows))
	}
	for k, row := range got {
		data := rows[k[1]].Img
		if name != "img" {
			data = rows[k[1]].Meta.Bytes
		}
		expected := deviceRow{images.Task{Bytes: int32(o.Bytes())}, string(want(t, o, data, name, k[0], k[1], 0))}
		if row.task.Kind == images.TaskJPEG {
			files++
			expected = deviceRow{taskOf(t, o, data, name, k[0], k[1]), string(data)}
		}
		if row != expected {
			t.Fatalf("epoch %d, row %d: got %+v, want %+v", k[0], k[1], row.task, expected.task)
		}
	}
	return files
}

// The file of a row comes with the crop, flip and colors that the row has on the CPU, and which
// rows are files depends on the share, and not on the world size, the batch size or the workers.
func TestImagesOnDevice(t *testing.T) {
	rows := pictures(61)
	o := augmented()
	ds := openPictures(t, rows, iterable.Options{})
	for share, most := range map[float64][2]int{0: {122, 122}, 0.3: {70, 100}, 1: {0, 0}} {
		var first map[[2]int64]deviceRow
		for _, c := range []Options{
			{BatchSize: 7},
			{BatchSize: 5, WorldSize: 2, Workers: 1},
			{BatchSize: 4, WorldSize: 3, Workers: 2, ImageParallel: 3},
			{BatchSize: 40, Workers: 1, ImageParallel: 3},
		} {
			t.Run(fmt.Sprint(share, " ", c.BatchSize), func(t *testing.T) {
				c.Images, c.ImageSplit, c.Epochs = map[string]images.Options{"img": o}, NewImageSplit(share), 2
				got := deviceRowsOf(t, ds, c, "img")
				if files := checkDevice(t, got, o, "img", rows, 2); files < most[0] || files > most[1] {
					t.Errorf("%d rows have files, want %v", files, most)
				}
				if first == nil {
					first = got
				}
				if !maps.Equal(got, first) {
					t.Error("other rows have files")
				}
			})
		}
	}
}

// Columns that a device cannot make stay tensors, and members of structs may be lists.
func TestImagesOnDeviceColumns(t *testing.T) {
	rows := pictures(23)
	for i := range rows {
		rows[i].Meta.Bytes = file(30, 12+i%3, i, false)
	}
	ds := openPictures(t, rows, iterable.Options{})
	train := augmented()
	o := Options{BatchSize: 6, Workers: 2, ImageSplit: NewImageSplit(0), Images: map[string]images.Options{"img": train, "meta.bytes": {Height: 3, DType: images.Float16}}}
	checkDevice(t, deviceRowsOf(t, ds, o, "meta.bytes"), o.Images["meta.bytes"], "meta.bytes", rows, 1)
	checkDevice(t, deviceRowsOf(t, ds, o, "img"), train, "img", rows, 1)

	s, err := Options{ImageSplit: o.ImageSplit, Images: map[string]images.Options{
		"img": train, "image.bytes": {Height: 3}, "views": {}, "other": {Channels: 1},
	}}.Shape(imageSchemaOnce())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range append(s.Schema().Fields, s.TaskFields()...) {
		got = append(got, f.Name+" "+f.String())
	}
	wanted := []string{
		"label int32", "img list<uint8>", "image struct<bytes: list<uint8>, path: string, thumb: struct<bytes: binary>>", "kind string",
		"views list<list<list<list<uint8>[224]>[224]>[3]>", "other list<list<list<uint8>[224]>[224]>[1]", " int64", " int32",
		"img\x00device list<int32>[24]", "image.bytes\x00device list<int32>[24]", "\x00row int64",
	}
	if !slices.Equal(got, wanted) {
		t.Errorf("got  %q\nwant %q", got, wanted)
	}
}

// imageSchemaOnce is imageSchema with one column of each name.
func imageSchemaOnce() *column.Schema {
	s := imageSchema()
	s.Fields = slices.Delete(s.Fields, 5, 6)
	return s
}

// Files that no device decodes come as tensors, and lost rows have nothing, behind the others.
func TestImagesOnDeviceLost(t *testing.T) {
	rows := pictures(61)
	for i := 3; i < len(rows); i += 10 {
		rows[i].Img = file(9+i%3, 8, i, true)
	}
	lost := []int64{0, 4, 5, 30, 44, 60}
	for i, at := range lost {
		damages[i%5].damage(&rows[at])
	}
	for _, onError := range []iterable.OnError{iterable.Mask, iterable.Skip} {
		t.Run(string(onError), func(t *testing.T) {
			ds := openPictures(t, rows, iterable.Options{Losses: iterable.Losses{OnError: onError, MaxLost: 1}})
			o := augmented()
			o.Geometry = true
			seen, files := 0, 0
			l := newShop(t, ds, Options{BatchSize: 6, Workers: 2, ImageParallel: 3, ImageSplit: NewImageSplit(0.2), Images: map[string]images.Options{"img": o}})
			for b, err := range l.Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				ids, sizes := values[int64](t, b, "id"), values[int32](t, b, "img_size")
				for i, row := range rowsOfDevice(t, b, "img") {
					if i >= b.Valid {
						if row != (deviceRow{images.Task{Kind: images.TaskNone}, ""}) || !slices.Contains(lost, ids[i]) {
							t.Errorf("row %d, which is lost: %+v", ids[i], row)
						}
						continue
					}
					seen++
					if row.task.Kind == images.TaskJPEG {
						files++
						if ids[i]%10 == 3 {
							t.Errorf("the PNG of row %d is left to the device", ids[i])
						}
					}
					checkDevice(t, map[[2]int64]deviceRow{{b.Epoch, ids[i]}: row}, o, "img", rows, 0)
					if h, err := codec.ReadHeader(rows[ids[i]].Img); err != nil || sizes[2*i] != int32(h.Height) || sizes[2*i+1] != int32(h.Width) {
						t.Errorf("row %d has the size %v, %v", ids[i], sizes[2*i:2*i+2], err)
					}
				}
				b.Release()
			}
			stats := l.Stats()
			if n := stats.OnDevice; seen != 55 || n != int64(files) || files < 20 || files > 48 {
				t.Errorf("%d rows, %d of them files; %d are counted", seen, files, n)
			}
			if stats.Decoded != int64(seen-files) {
				t.Errorf("%d images are counted as decoded, want %d", stats.Decoded, seen-files)
			}
		})
	}
}

// A run that is resumed on another world size has the same tasks.
func TestImagesOnDeviceResume(t *testing.T) {
	rows := pictures(61)
	o := augmented()
	ds := openPictures(t, rows, iterable.Options{})
	options := Options{BatchSize: 6, Images: map[string]images.Options{"img": o}, ImageSplit: NewImageSplit(0.5)}
	whole, resumed := deviceRowsOf(t, ds, options, "img"), map[[2]int64]deviceRow{}
	var state *shuffle.State
	for b, err := range newShop(t, ds, options).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Step == 4 {
			b.Release()
			break
		}
		s := b.State
		state = &s
		for i, row := range rowsOfDevice(t, b, "img") {
			resumed[[2]int64{b.Epoch, values[int64](t, b, "id")[i]}] = row
		}
		b.Release()
	}
	options.State, options.WorldSize, options.BatchSize = state, 3, 2
	maps.Copy(resumed, deviceRowsOf(t, ds, options, "img"))
	if !maps.Equal(resumed, whole) {
		t.Error("the resumed run has other rows")
	}
}

// A share that changes is that of the batches which are not begun.
func TestImagesOnDeviceShareChanges(t *testing.T) {
	ds := openPictures(t, pictures(60), iterable.Options{})
	split := NewImageSplit(1)
	var files []int
	for b, err := range newShop(t, ds, Options{BatchSize: 10, ImageSplit: split, Images: map[string]images.Options{"img": augmented()}}).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, row := range rowsOfDevice(t, b, "img") {
			n += int(row.task.Kind)
		}
		files = append(files, n)
		split.SetShare(float64(len(files) % 2))
		b.Release()
	}
	if want := []int{0, 0, 10, 0, 10, 0}; !slices.Equal(files, want) {
		t.Errorf("got %v files, want %v", files, want)
	}
}

// Rows by number have the tasks of the epoch that is set.
func TestImagesOnDeviceOfMap(t *testing.T) {
	rows := pictures(20)
	o := augmented()
	m := newShopMap(t, openPictures(t, rows, iterable.Options{}), MapOptions{BatchSize: 4, ImageSplit: NewImageSplit(0.4), Images: map[string]images.Options{"img": o}})
	m.SetEpoch(3)
	b, err := m.Batch(t.Context(), []int64{7, 3, 7, 19, 4, 5, 6, 11})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	got, all := map[[2]int64]deviceRow{}, rowsOfDevice(t, b, "img")
	for i, id := range values[int64](t, b, "id") {
		got[[2]int64{3, id}] = all[i]
	}
	if files := checkDevice(t, got, o, "img", rows, 0); files == 0 || files == len(got) || all[0] != all[2] {
		t.Errorf("%d of %d rows are files", files, len(got))
	}
}

// Files that are larger than their tensors are decoded where a batch cannot hold them.
func TestDeviceRowsPlace(t *testing.T) {
	for _, c := range []struct {
		most   int
		starts []int32
		files  []int // rows
		ok     bool
	}{
		{1 << 20, []int32{0, 16, 128, 160, 224}, []int{0, 1, 3}, true},
		{4*32 + 112, []int32{0, 16, 128, 160, 224}, []int{0, 1, 3}, true},
		{4*32 + 111, []int32{0, 16, 128, 160, 192}, []int{0, 1}, true},
		{4*32 + 32, []int32{0, 16, 48, 80, 144}, []int{0, 3}, true},
		{4 * 32, []int32{0, 16, 48, 80, 112}, []int{0}, true},
		{4*32 - 1, []int32{0, 16, 48, 80, 112}, []int{0}, false},
	} {
		file := func(n int32) images.Task { return images.Task{Kind: images.TaskJPEG, Bytes: n} }
		r := deviceRows{tasks: []images.Task{file(10), file(100), {}, file(50)}, starts: make([]int32, 5)}
		n, ok := r.place(32, c.most)
		var files []int
		for row, k := range r.tasks {
			if k.Kind == images.TaskJPEG {
				files = append(files, row)
			}
		}
		if n != int(c.starts[4]) || ok != c.ok || !slices.Equal(r.starts, c.starts) || !slices.Equal(files, c.files) {
			t.Errorf("at most %d: got %d bytes at %v, files %v, %v, want %+v", c.most, n, r.starts, files, ok, c)
		}
	}
}

// The memory of batches is predicted for the larger of files and tensors.
func TestImagesOnDeviceMemory(t *testing.T) {
	rows := pictures(40)
	for i := range rows {
		rows[i].Img = file(300+i, 200, i, false)
	}
	ds := openPictures(t, rows, iterable.Options{Reading: iterable.Reading{Columns: []string{"img"}}})
	for _, c := range []struct {
		height int
		share  float64
	}{{4, 0}, {400, 1}} {
		o := Options{BatchSize: 10, ImageSplit: NewImageSplit(c.share), Images: map[string]images.Options{"img": {Height: c.height}}}
		foretold, plain := BatchBytes(ds, o), BatchBytes(ds, Options{BatchSize: 10})
		for b, err := range newShop(t, ds, o).Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if n := b.Bytes(); n > foretold*5/4 || foretold > max(2*n, plain*11/10) {
				t.Errorf("height %d: a batch of %d bytes, foretold are %d", c.height, n, foretold)
			}
			b.Release()
		}
		if bound := BatchBound(ds, o); bound != 0 {
			t.Errorf("a bound of %d bytes, and files have any size", bound)
		}
	}
}
