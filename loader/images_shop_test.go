package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"maps"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A picture is a row of the tests of images.
type picture struct {
	ID    int64  `parquet:"id"`
	Img   []byte `parquet:"img,optional"`
	Price float32
	Meta  struct {
		Bytes []byte `parquet:"bytes,optional"`
		Path  string `parquet:"path"`
	} `parquet:"meta"`
	Tokens []int32 `parquet:"tokens,list"`
}

// pictures are so many rows, each with files of its own.
func pictures(n int) []picture {
	rows := make([]picture, n)
	for i := range rows {
		r := &rows[i]
		r.ID, r.Price, r.Meta.Path = int64(i), float32(i)/2, fmt.Sprintf("%d.png", i)
		r.Tokens = make([]int32, 1+i%5)
		r.Img, r.Meta.Bytes = file(24+i%9, 20+i%7, i, false), file(12, 12+i%3, i, true)
	}
	return rows
}

// file is an encoded picture of a size.
func file(width, height, seed int, asPNG bool) []byte {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			m.SetRGBA(x, y, color.RGBA{uint8(x*9 + seed), uint8(y*11 + 3*seed), uint8((x ^ y) * 5), 255})
		}
	}
	var b bytes.Buffer
	err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 90})
	if asPNG {
		b.Reset()
		err = png.Encode(&b, m)
	}
	if err != nil {
		panic(err)
	}
	return b.Bytes()
}

// openPictures opens them in two shards of row groups of 10 rows, shuffled.
func openPictures(t testing.TB, rows []picture, o iterable.Options) *iterable.Dataset {
	t.Helper()
	store := &memstore.Store{}
	putPictures(t, store, "data", rows)
	o.Shuffle = true
	if o.ShuffleBuffer.Rows == 0 {
		o.ShuffleBuffer.Rows = 30
	}
	return openPicturesOf(t, store, []string{"mem://data/"}, o)
}

func openPicturesOf(t testing.TB, store shard.Store, addresses []string, o iterable.Options) *iterable.Dataset {
	t.Helper()
	o.Seed, o.RowKeys = 7, !o.RowIDs
	return openData(t, shard.Stores{"mem": store}, addresses, o)
}

func putPictures[T any](t testing.TB, store *memstore.Store, dir string, rows []T) {
	t.Helper()
	for at, part := range slices.Collect(slices.Chunk(rows, (len(rows)+1)/2)) {
		var b bytes.Buffer
		w := parquet.NewGenericWriter[T](&b)
		for group := range slices.Chunk(part, 10) {
			if _, err := w.Write(group); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		store.Put(fmt.Sprintf("%s/%d.parquet", dir, at), b.Bytes())
	}
}

// augmented are options with every random part, of a small result.
func augmented() images.Options {
	return images.Options{
		Height: 6, Width: 5, Crop: images.CropRandomResized, Flip: 0.5,
		ColorJitter: images.Jitter{Brightness: images.Range{0.6, 1.4}, Hue: images.Range{-0.1, 0.1}},
	}
}

// want is the tensor of a file by the definition: the augmenter's, with the seed of the row's key.
func want(t testing.TB, o images.Options, data []byte, column string, epoch, row int64, source int32) []byte {
	t.Helper()
	a, err := images.New(o, new(codec.Go))
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, o.Bytes())
	seed, _ := rowKey{seed: 7, epoch: epoch, source: source, row: row, transform: imageNumber(column)}.pcg()
	if err := a.Apply(dst, data, seed); err != nil {
		t.Fatal(err)
	}
	return dst
}

// tensorBytes is the bytes of a column of tensors, row by row.
func tensorBytes(t testing.TB, b *Batch, name string) [][]byte {
	t.Helper()
	a, err := b.Column(name)
	if err != nil {
		t.Fatal(err)
	}
	data := leafOf(a).Data
	if b.Rows == 0 {
		return nil
	}
	return slices.Collect(slices.Chunk(data, len(data)/b.Rows))
}

// tensorsOf are the tensors of a column by epoch and id, of the rows that count on all ranks.
// Replicas must have the same batches.
func tensorsOf(t *testing.T, ds *iterable.Dataset, o Options, name string) map[[2]int64][]byte {
	t.Helper()
	all := map[[2]int64][]byte{}
	var batches []string // of the first of some replicas
	for o.Rank = range max(1, o.WorldSize) {
		first, steps := o.Rank%max(1, o.Replication) == 0, 0
		if first {
			batches = nil
		}
		for b, err := range newShop(t, ds, o).Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			steps++
			if !first {
				if steps > len(batches) || digest(b) != batches[steps-1] {
					t.Fatalf("rank %d has another batch %d than the rank that it replicates", o.Rank, steps-1)
				}
				b.Release()
				continue
			}
			batches = append(batches, digest(b))
			tensors := tensorBytes(t, b, name)
			for i, id := range values[int64](t, b, "id")[:b.Valid] {
				k := [2]int64{b.Epoch, id}
				if _, twice := all[k]; twice {
					t.Fatalf("row %d twice in epoch %d", id, b.Epoch)
				}
				all[k] = bytes.Clone(tensors[i])
			}
			b.Release()
		}
		if steps != len(batches) {
			t.Fatalf("rank %d has %d batches, the rank that it replicates %d", o.Rank, steps, len(batches))
		}
	}
	return all
}

// checkTensors compares with the definition; left is how many rows are missing.
func checkTensors(t *testing.T, got map[[2]int64][]byte, o images.Options, name string, rows []picture, epochs, left int) {
	t.Helper()
	if len(got) != epochs*(len(rows)-left) {
		t.Errorf("%d tensors, want %d", len(got), epochs*(len(rows)-left))
	}
	for _, k := range slices.SortedFunc(maps.Keys(got), func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) }) {
		data := rows[k[1]].Img
		if name != "img" {
			data = rows[k[1]].Meta.Bytes
		}
		if !bytes.Equal(got[k], want(t, o, data, name, k[0], k[1], 0)) {
			t.Fatalf("epoch %d, row %d: other pixels", k[0], k[1])
		}
	}
}

// A row has the same crop, flip and jitter whatever the world size, the batch size, the workers and
// the order.
func TestImagesAreOfRows(t *testing.T) {
	rows := pictures(61)
	o := augmented()
	keyed, named := openPictures(t, rows, iterable.Options{}), openPictures(t, rows, iterable.Options{Reading: iterable.Reading{RowIDs: true}})
	for _, c := range []struct {
		name string
		ds   *iterable.Dataset
		o    Options
	}{
		{"one rank", keyed, Options{BatchSize: 7}},
		{"two ranks", keyed, Options{BatchSize: 5, WorldSize: 2, Workers: 1}},
		{"three ranks", keyed, Options{BatchSize: 4, WorldSize: 3, Workers: 2}},
		{"large batches", keyed, Options{BatchSize: 40, Workers: 1, ImageParallel: 3}},
		{"row ids", named, Options{BatchSize: 9, Workers: 2, Unordered: true}},
		{"replicas", keyed, Options{BatchSize: 9, WorldSize: 2, Replication: 2}},
		{"replicas on two data ranks", keyed, Options{BatchSize: 5, WorldSize: 4, Replication: 2, Workers: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Images, c.o.Epochs = map[string]images.Options{"img": o}, 2
			checkTensors(t, tensorsOf(t, c.ds, c.o, "img"), o, "img", rows, 2, 0)
		})
	}
}

// Types, layouts and members of structs; other columns and options do not change the pixels.
func TestImagesColumns(t *testing.T) {
	rows := pictures(23)
	ds := openPictures(t, rows, iterable.Options{})
	few := openPictures(t, rows, iterable.Options{Reading: iterable.Reading{Columns: []string{"id", "img"}}, Choice: iterable.Choice{Filters: "id >= 4"}})
	train := augmented()
	half, brain, last, plain := train, train, train, images.Options{Height: 4, Width: 9}
	half.DType, half.Mean, half.Std = images.Float16, [3]float32{0.5, 0.4, 0.3}, [3]float32{0.2, 0.3, 0.4}
	brain.DType, last.DType, last.Layout = images.BFloat16, images.Float32, images.HWC
	for _, c := range []struct {
		name, column string
		ds           *iterable.Dataset
		o            images.Options
		with         map[string]images.Options
		left         int
	}{
		{"float16", "img", ds, half, nil, 0},
		{"bfloat16", "img", ds, brain, nil, 0},
		{"channels last", "img", ds, last, nil, 0},
		{"a member", "meta.bytes", ds, train, nil, 0},
		{"with another", "meta.bytes", ds, plain, map[string]images.Options{"img": half}, 0},
		{"with another first", "img", ds, train, map[string]images.Options{"meta.bytes": last}, 0},
		{"filtered", "img", few, train, nil, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := map[string]images.Options{c.column: c.o}
			maps.Copy(all, c.with)
			o := Options{BatchSize: 6, Images: all, NaN: true, Workers: 1}
			checkTensors(t, tensorsOf(t, c.ds, o, c.column), c.o, c.column, rows, 1, c.left)
		})
	}
}

// The rest of a struct with an image, and other columns, are those of the row.
func TestImagesBesideOthers(t *testing.T) {
	rows := pictures(23)
	ds := openPictures(t, rows, iterable.Options{})
	o := Options{BatchSize: 10, Images: map[string]images.Options{"meta.bytes": {Height: 3}, "img": {Height: 2}}}
	for b, err := range newShop(t, ds, o).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		meta, err := b.Column("meta")
		if err != nil {
			t.Fatal(err)
		}
		path := meta.Children[1]
		for i, id := range values[int64](t, b, "id") {
			if got := string(path.Data[path.Offsets[i]:path.Offsets[i+1]]); got != fmt.Sprintf("%d.png", id) {
				t.Errorf("row %d has the path %s", id, got)
			}
		}
		want := "id int64, img list<list<list<uint8>[2]>[2]>[3], Price float, meta struct<bytes: list<list<list<uint8>[3]>[3]>[3], path: string>, tokens list<int32>"
		if got := fmt.Sprint(b); got[len("epoch 0, step 0: 10 rows: "):] != want && b.Step == 0 {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if n := tensorBytes(t, b, "meta.bytes"); len(n) != b.Rows || len(n[0]) != 27 || meta.Children[0].Len != b.Rows {
			t.Errorf("%d tensors", len(n))
		}
		b.Release()
	}
}

// A run that resumes after any step has the same batches, on another number of workers.
func TestImagesResume(t *testing.T) {
	rows := pictures(41)
	ds := openPictures(t, rows, iterable.Options{})
	o := Options{BatchSize: 4, Epochs: 2, Images: map[string]images.Options{"img": augmented()}}
	var all []string
	var states []shuffle.State
	for b, err := range newShop(t, ds, o).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all, states = append(all, digest(b)), append(states, b.State)
		b.Release()
	}
	for i, state := range states[:len(states)-1] {
		o := o
		o.State, o.Workers, o.Epochs = &state, i%3, 2-int(state.Epoch)
		next := i + 1
		for b, err := range newShop(t, ds, o).Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if got := digest(b); got != all[next] {
				t.Fatalf("resumed after batch %d:\n got %s\nwant %s", i, got, all[next])
			}
			b.Release()
			next++
		}
		if next != len(all) {
			t.Errorf("resumed after batch %d, it ended after batch %d", i, next-1)
		}
	}
	// The rest of an epoch on three ranks.
	state := states[3]
	three := o
	three.State, three.Epochs, three.WorldSize, three.BatchSize = &state, 1, 3, 2
	checkTensors(t, tensorsOf(t, ds, three, "img"), augmented(), "img", rows, 1, 16)
}

// A step that goes on into later epochs has their crops.
func TestImagesOfCarriedRows(t *testing.T) {
	rows := pictures(11)
	ds := openPictures(t, rows, iterable.Options{Order: iterable.Order{Tail: shuffle.Carry}})
	o := Options{BatchSize: 8, Tail: shuffle.Carry, Epochs: 4, Images: map[string]images.Options{"img": augmented()}}
	seen := map[int64]int64{} // epoch of an id's next row
	for b, err := range newShop(t, ds, o).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		tensors := tensorBytes(t, b, "img")
		for i, id := range values[int64](t, b, "id")[:b.Valid] {
			if !bytes.Equal(tensors[i], want(t, augmented(), rows[id].Img, "img", seen[id], id, 0)) {
				t.Fatalf("step %d of epoch %d, row %d: other pixels than in epoch %d", b.Step, b.Epoch, id, seen[id])
			}
			seen[id]++
		}
		b.Release()
	}
	if seen[0] < 3 {
		t.Errorf("row 0 came %d times", seen[0])
	}
}

// Sources of a mixture have seeds of their own.
func TestImagesOfMixture(t *testing.T) {
	rows, store := pictures(20), &memstore.Store{}
	putPictures(t, store, "a", rows)
	putPictures(t, store, "b", rows)
	o := iterable.Options{Order: iterable.Order{Shuffle: true}, ShuffleBuffer: iterable.Size{Rows: 30}, Reading: iterable.Reading{RowIDs: true}, Sources: []iterable.Source{
		{Name: "a", Addresses: []string{"mem://a/"}, Weight: 1}, {Name: "b", Addresses: []string{"mem://b/"}, Weight: 1},
	}}
	ds := openPicturesOf(t, store, nil, o)
	n := 0
	for b, err := range newShop(t, ds, Options{BatchSize: 5, Images: map[string]images.Options{"img": augmented()}}).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		tensors, number, source := tensorBytes(t, b, "img"), values[int64](t, b, "_row"), values[int32](t, b, "source")
		for i, id := range values[int64](t, b, "id") {
			if !bytes.Equal(tensors[i], want(t, augmented(), rows[id].Img, "img", 0, number[i], source[i])) {
				t.Fatalf("source %d, row %d: other pixels", source[i], number[i])
			}
			n += int(source[i])
		}
		b.Release()
	}
	if n == 0 {
		t.Error("the second source has no rows")
	}
}

// The rows of a bucket's sample have their crops, and a lost one leaves its batch.
func TestImagesOfBuckets(t *testing.T) {
	rows := pictures(60)
	bucket := iterable.Options{Bucket: &rule.Bucket{Columns: map[string]int{"tokens": 20}}, Order: iterable.Order{Tail: shuffle.Pad}}
	o := Options{Tail: shuffle.Pad, WorldSize: 2, Workers: 2, Images: map[string]images.Options{"img": augmented()}}
	for _, onError := range []iterable.OnError{iterable.Mask, iterable.Skip} {
		rows[17].Img = nil
		bucket.Losses = iterable.Losses{OnError: onError, MaxLost: 1}
		ds := openPictures(t, rows, bucket)
		checkTensors(t, tensorsOf(t, ds, o, "img"), augmented(), "img", rows, 1, 1)
		if n := len(ds.Losses()); n != 1 {
			t.Errorf("%s: %d losses", onError, n)
		}
	}
}

// Rows by number have the crops of their rows, of the epoch that the map is set to.
func TestImagesOfMap(t *testing.T) {
	rows := pictures(23)
	ds := openPictures(t, rows, iterable.Options{Choice: iterable.Choice{Filters: "id >= 3"}})
	o := MapOptions{BatchSize: 8, Workers: 2, Images: map[string]images.Options{"img": augmented()}}
	m, err := NewMap(ds, o)
	if err != nil {
		t.Fatal(err)
	}
	for epoch := range int64(2) {
		m.SetEpoch(epoch)
		b, err := m.Batch(t.Context(), []int64{3, 0, 3, 19})
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range []int64{6, 3, 6, 22} {
			if !bytes.Equal(tensorBytes(t, b, "img")[i], want(t, augmented(), rows[id].Img, "img", epoch, id, 0)) {
				t.Errorf("epoch %d, row %d: other pixels", epoch, id)
			}
		}
		b.Release()
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// countedDecoder counts what is open.
type countedDecoder struct {
	codec.Decoder
	open *int
}

func (d countedDecoder) Close() error {
	*d.open--
	return d.Decoder.Close()
}

// Decoders are closed however an iteration ends.
func TestImagesCloseDecoders(t *testing.T) {
	ds := openPictures(t, pictures(40), iterable.Options{})
	for _, steps := range []int{0, 1, 3, 100} {
		t.Run(fmt.Sprint(steps), func(t *testing.T) {
			open := 0
			l, err := New(ds, Options{BatchSize: 4, Images: map[string]images.Options{"img": {Height: 4}}, ImageDecoder: func() (codec.Decoder, error) {
				open++
				return countedDecoder{new(codec.Go), &open}, nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			left := steps
			for b, err := range l.Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				b.Release()
				if left--; left <= 0 {
					break
				}
			}
			if err := l.Close(); err != nil || open != 0 {
				t.Errorf("%d decoders are open: %v", open, err)
			}
		})
	}
}

// A decoder that cannot be had fails New, by its own words.
func TestImagesNoDecoder(t *testing.T) {
	ds := openPictures(t, pictures(3), iterable.Options{})
	broken := errors.New("no library")
	_, err := New(ds, Options{Images: map[string]images.Options{"img": {}}, ImageDecoder: func() (codec.Decoder, error) { return nil, broken }})
	if !errors.Is(err, broken) || err.Error() != "no decoder for images: no library" {
		t.Errorf("got %v", err)
	}
}

// brokenDecoder panics.
type brokenDecoder struct{ codec.Go }

func (*brokenDecoder) Decode([]byte, codec.Header, image.Rectangle, int) (codec.Pixels, error) {
	panic("out of bounds")
}

// A panic of a decoder ends the iteration, and not the process, whichever goroutine it is in.
func TestImagesPanic(t *testing.T) {
	for _, onError := range []iterable.OnError{iterable.Raise, iterable.Skip} {
		t.Run(string(onError), func(t *testing.T) {
			ds := openPictures(t, pictures(30), iterable.Options{Losses: iterable.Losses{OnError: onError}})
			o := Options{BatchSize: 20, Workers: 1, ImageParallel: 3, Images: map[string]images.Options{"img": {Height: 4}}}
			o.ImageDecoder = func() (codec.Decoder, error) { return new(brokenDecoder), nil }
			_, err := steps(context.Background(), newShop(t, ds, o))
			var broke *iterable.PanicError
			var at *Error
			if !errors.As(err, &broke) || !errors.As(err, &at) || at.Op != "images" || at.Stack == nil {
				t.Errorf("got %v", err)
			}
		})
	}
}
