package loader

import (
	"context"
	"fmt"
	"image"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
)

// A weigher gives images of some widths a weight, and notes the most that decoders hold.
type weigher struct {
	mu         sync.Mutex
	held, most int64
	large      int // images above the share of a lens
}

func (w *weigher) add(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held += n
	w.most = max(w.most, w.held)
	if n > lensScratch {
		w.large++
	}
}

// A heavyDecoder keeps as much as its largest image took, as decoders do.
type heavyDecoder struct {
	codec.Go
	weigher *weigher
	kept    int64
}

// Memory is up to 90 MiB, by the width.
func (d *heavyDecoder) Memory(h codec.Header) int64 {
	if h.Width > 100 { // the largest that the limits allow
		return 200 << 20
	}
	return int64(h.Width-23) * 10 << 20
}

func (d *heavyDecoder) Decode(data []byte, h codec.Header, r image.Rectangle, denom int) (codec.Pixels, error) {
	if n := d.Memory(h); n > d.kept {
		d.weigher.add(n - d.kept)
		d.kept = n
	}
	return d.Go.Decode(data, h, r, denom)
}

func (d *heavyDecoder) Close() error {
	d.weigher.add(-d.kept)
	d.kept = 0
	return d.Go.Close()
}

// Decoders never hold more than the stream has reserved for them, and images that wait for each
// other's memory all come, in two columns too.
func TestImagesKeepWithinMemory(t *testing.T) {
	rows := pictures(60)
	for _, c := range []struct {
		memory   int64
		parallel int
		columns  []string
	}{
		{1 << 30, 4, []string{"img"}},
		{1 << 30, 3, []string{"img", "meta.bytes"}},
		{512 << 20, 2, []string{"img"}},
	} {
		t.Run(fmt.Sprintf("%v, %d, %v", mem.Bytes(c.memory), c.parallel, c.columns), func(t *testing.T) {
			ds, w := openPictures(t, rows, iterable.Options{Resources: iterable.Resources{Memory: c.memory}}), &weigher{}
			o := Options{BatchSize: 10, Workers: 2, ImageParallel: c.parallel, Images: map[string]images.Options{}}
			for _, name := range c.columns {
				o.Images[name] = images.Options{Height: 2}
			}
			o.ImageDecoder = func() (codec.Decoder, error) { return &heavyDecoder{weigher: w}, nil }
			l := newShop(t, ds, o)
			for b, err := range l.Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				b.Release()
			}
			if w.large == 0 || w.held != 0 {
				t.Errorf("%d images were large, %s are held", w.large, mem.Bytes(w.held))
			}
			p, err := Plan(ds, o)
			if err != nil {
				t.Fatal(err)
			}
			if least := p.Bound[mem.Scratch]; least == 0 || least > c.memory/scratchPart || w.most > c.memory/2 {
				t.Errorf("%s are foretold, %s were held", mem.Bytes(least), mem.Bytes(w.most))
			}
		})
	}
}

// The account of a pass counts the shares and the room, and is empty when its lenses are gone.
func TestLensesCount(t *testing.T) {
	s, err := imageOf("other", images.Options{}).Shape(imageSchema())
	if err != nil {
		t.Fatal(err)
	}
	w, r := &weigher{}, &recipe{}
	for _, c := range s.columns {
		r.images = append(r.images, c.images...)
	}
	r.decoder = func() (codec.Decoder, error) { return &heavyDecoder{weigher: w}, nil }
	need, err := r.imageNeed(2, 0)
	if err != nil {
		t.Fatal(err)
	}
	if sum := need.least + need.more; need.each != lensScratch || need.least != 2*lensScratch+roomScratch || sum < 200<<20 {
		t.Errorf("got %+v", need)
	}
	account, err := mem.NewBudget(0).Reserve(0, mem.Amounts{mem.Scratch: 2*need.each + 100<<20})
	if err != nil {
		t.Fatal(err)
	}
	im := r.newImaging(need, account)
	if im.room != 100<<20 {
		t.Errorf("the room is %s", mem.Bytes(im.room))
	}
	used := func(want int64) {
		t.Helper()
		if got := account.Used()[mem.Scratch]; got != want {
			t.Errorf("%s are used, want %s", mem.Bytes(got), mem.Bytes(want))
		}
	}
	one, two := im.pickLocked(), im.pickLocked()
	if two == nil || im.pickLocked() != nil {
		t.Error("there are not two lenses")
	}
	used(2 * need.each)
	dst, r1 := make([]byte, im.columns[0].bytes), rand.Uint64()
	apply := func(l *lens, width int) error {
		return im.apply(t.Context(), l, 0, imageFile{dst: dst, data: file(width, 24, 1, true), seed: r1})
	}
	if err := apply(one, 24); err != nil { // within its share
		t.Error(err)
	}
	used(2 * need.each)
	if err := apply(one, 30); err != nil { // above it
		t.Error(err)
	}
	held := one.more
	used(2*need.each + held)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := im.apply(ctx, two, 0, imageFile{dst: dst, data: file(31, 24, 1, true), seed: r1}); err != context.Canceled {
		t.Errorf("it did not wait: %v", err)
	}
	im.giveLocked(one)
	used(2 * need.each)
	if err := apply(two, 31); err != nil {
		t.Error(err)
	}
	im.close()
	im.giveLocked(two)
	used(0)
	if w.held != 0 {
		t.Errorf("decoders hold %s", mem.Bytes(w.held))
	}
}

// A batch is foretold with its tensors and without its files.
func TestImagesBatchBytes(t *testing.T) {
	rows := pictures(60)
	files := 0
	for i := range rows {
		rows[i].Img = append(rows[i].Img, make([]byte, 20_000)...)
		files += len(rows[i].Img)
	}
	ds := openPictures(t, rows, iterable.Options{Reading: iterable.Reading{Columns: []string{"id", "img"}}})
	o := Options{BatchSize: 20}
	plain := BatchBytes(ds, o)
	o.Images = map[string]images.Options{"img": {Height: 128}}
	tensors := int64(20 * 3 * 128 * 128)
	if got, file := BatchBytes(ds, o), int64(20*files/len(rows)); plain < file || got < tensors || got > tensors+tensors/8+plain-file/2 {
		t.Errorf("%d bytes are foretold, tensors have %d, files %d; without images %d", got, tensors, file, plain)
	}
}

// Images allocate nothing for a row, beside what their decoder does.
func TestImagesAllocations(t *testing.T) {
	ds := openPictures(t, pictures(800), iterable.Options{ShuffleBuffer: iterable.Size{Rows: 800}})
	r, err := newRecipe(ds.Schema(), Options{
		Images: twoImages(), ImageDecoder: func() (codec.Decoder, error) { return &blackDecoder{}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	need, err := r.imageNeed(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	allocations := func(batchSize int) float64 {
		p := &pass{recipe: r, imaging: r.newImaging(need, nil)}
		defer p.imaging.close()
		return allocationsOf(t, ds, p.newCollator((*mem.Pool)(ds.Pool())), 6, batchSize)
	}
	small, large := allocations(10), allocations(100)
	if large > small+45 || small > 90 { // some more, since scratch grows by the largest crop so far
		t.Errorf("%v allocations for a batch of 10 rows, %v for one of 100", small, large)
	}
}

// A blackDecoder allocates nothing.
type blackDecoder struct{ rgb []byte }

func (d *blackDecoder) Decode(_ []byte, h codec.Header, r image.Rectangle, _ int) (codec.Pixels, error) {
	r = r.Intersect(h.Bounds())
	if n := 3 * r.Dx() * r.Dy(); cap(d.rgb) < n {
		d.rgb = make([]byte, n)
	}
	return codec.Pixels{RGB: d.rgb[:3*r.Dx()*r.Dy()], Rect: r, Denom: 1}, nil
}

func (d *blackDecoder) Memory(codec.Header) int64 { return 1 << 20 }
func (d *blackDecoder) Close() error              { return nil }
