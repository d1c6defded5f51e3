package loader

import (
	"context"
	"errors"
	"fmt"
	"image"
	"math"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// imaging decodes the images of a pass: it has a number of lenses, and their memory. A lens has a
// share of its own, which suffices for most images. For a larger one it takes the difference from a
// room that all lenses share, waiting until enough of it is free. A lens returns it before it waits
// for anything else, so that no two wait for each other, and before it starts on another batch.
type imaging struct {
	columns []*imageColumn
	open    func() (codec.Decoder, error)
	each    int64        // share of a lens
	room    int64        // that they share
	shared  *mem.Account // of the room
	account *mem.Account // the stream's, which counts both; nil in tests

	took  *atomic.Int64  // time of all lenses
	made  *atomic.Int64  // images
	group sync.WaitGroup // a goroutine for each lens in use

	mu     sync.Mutex
	unused int // lenses that were not made yet
	idle   []*lens
	queue  []*imageJob // with rows that no lens has, by their steps
	closed bool
}

// A lens is the decoding state of one goroutine.
type lens struct {
	augmenters []*images.Augmenter // by column; nil before its first image
	shared     []*images.Shared    // by column, of those with a share
	kept       []int64             // scratch of each
	more       int64               // of the room
}

// An imageNeed is the scratch memory that images take.
type imageNeed struct {
	lenses      int
	each        int64 // share of a lens
	least, more int64 // as iterable.StreamOptions has them
}

const (
	lensScratch = 16 << 20 // share of a lens: a JPEG of three megapixels
	roomScratch = 64 << 20 // of the room, whatever else needs memory
	scratchPart = 8        // the largest part of the memory that both take
)

// imageNeed predicts the scratch memory of the lenses under a limit of memory.
func (r *recipe) imageNeed(lenses int, limit int64) (n imageNeed, err error) {
	if len(r.images) == 0 {
		return n, nil
	}
	largest := int64(0)
	for _, m := range r.images {
		if m.options.Array != nil || m.share != nil && !m.leads() {
			continue
		}
		most, err := r.mostScratch(m)
		if err != nil {
			return n, err
		}
		largest = max(largest, most)
	}
	part := int64(math.MaxInt64)
	if limit > 0 {
		part = limit / scratchPart
	}
	n.lenses, n.each = lenses, min(lensScratch, largest, part/int64(2*lenses))
	first := min(roomScratch, largest-n.each, part/2)
	n.least, n.more = int64(lenses)*n.each+first, largest-n.each-first
	return n, nil
}

// mostScratch returns the scratch memory of the largest image of a column within its limits, or of
// its share.
func (r *recipe) mostScratch(m *imageColumn) (most int64, err error) {
	l := &lens{augmenters: make([]*images.Augmenter, len(r.images)), shared: make([]*images.Shared, len(r.images))}
	im := &imaging{columns: r.images, open: r.decoder}
	a, err := im.augmenter(l, m.place)
	if err != nil {
		return 0, err
	}
	for _, h := range largestHeaders(m.options.Limits()) {
		most = max(most, im.need(l, m.place, h))
	}
	return most, a.Close()
}

// filesBytes returns the mean bytes of a row's files, which are not part of the batch; in a
// mixture, of the source with the smallest.
func (r *recipe) filesBytes(all []*rowgroup.Reader) (least int64) {
	least = math.MaxInt64
	for _, m := range all {
		var bytes int64
		for g := range m.Groups() {
			for _, image := range r.images {
				bytes += m.FileBytes(g, image.column, image.filePath())
			}
		}
		least = min(least, bytes/max(1, m.NumRows()))
	}
	return least
}

// largestHeaders returns, for each format, the image within the limits that takes the most memory.
func largestHeaders(l codec.Limits) []codec.Header {
	side := int(math.Ceil(math.Sqrt(float64(l.MaxPixels))))
	h := codec.Header{Bytes: l.MaxBytes, Width: side, Height: side, Orientation: 6, Components: 3, Bits: 8, Progressive: true, Scans: l.MaxScans}
	jpeg, cmyk, png, webp, tiff := h, h, h, h, h
	jpeg.Format, png.Format, webp.Format = codec.JPEG, codec.PNG, codec.WebP
	cmyk.Format, cmyk.Components = codec.JPEG, 4
	tiff.Format, tiff.Components, tiff.Bits, tiff.MCUWidth, tiff.MCUHeight = codec.TIFF, 4, 16, side, side
	return []codec.Header{jpeg, cmyk, png, webp, tiff}
}

// augmenter opens an augmenter.
func (m *imageColumn) augmenter(open func() (codec.Decoder, error)) (*images.Augmenter, error) {
	d, err := open()
	if err != nil {
		return nil, fmt.Errorf("no decoder for images: %w", err)
	}
	return images.New(m.options, d)
}

// newImaging returns nil for a recipe without images. account holds at least the predicted memory,
// unless a user's taker reserved less.
func (r *recipe) newImaging(n imageNeed, account *mem.Account) *imaging {
	if len(r.images) == 0 {
		return nil
	}
	im := &imaging{columns: r.images, open: r.decoder, each: n.each, room: n.least + n.more, account: account, unused: n.lenses, took: &r.times[stageImages], made: &r.decoded}
	if account != nil { // a taker of the user's may have reserved less
		im.room = max(n.least, account.Reserved()[mem.Scratch])
	}
	im.room = max(0, im.room-int64(n.lenses)*n.each)
	im.shared, _ = mem.NewBudget(0).Reserve(0, mem.Amounts{mem.Scratch: im.room}) // which has no limit
	return im
}

// pickLocked returns nil if all lenses are in use. It prefers the lens that was used last, whose
// scratch has grown.
func (im *imaging) pickLocked() *lens {
	if last := len(im.idle) - 1; last >= 0 {
		l := im.idle[last]
		im.idle = im.idle[:last]
		return l
	}
	if im.unused == 0 {
		return nil
	}
	im.unused--
	im.charge(im.each)
	return &lens{augmenters: make([]*images.Augmenter, len(im.columns)), shared: make([]*images.Shared, len(im.columns)), kept: make([]int64, len(im.columns))}
}

// giveLocked takes a lens back.
func (im *imaging) giveLocked(l *lens) {
	if l.more > 0 {
		im.drop(l)
	}
	if im.closed {
		im.end(l)
	} else {
		im.idle = append(im.idle, l)
	}
}

// close frees the lenses. Jobs must end: their contexts have ended.
func (im *imaging) close() {
	if im == nil {
		return
	}
	im.mu.Lock()
	im.closed = true
	for _, l := range im.idle {
		im.end(l)
	}
	im.idle = nil
	im.mu.Unlock()
	im.group.Wait()
}

func (im *imaging) end(l *lens) {
	im.drop(l)
	im.charge(-im.each)
}

// charge counts bytes in the stream's account.
func (im *imaging) charge(n int64) {
	switch {
	case im.account == nil:
	case n >= 0:
		im.account.Charge(mem.Scratch, n)
	default:
		im.account.Release(mem.Scratch, -n)
	}
}

// drop frees all scratch of a lens, and what it has of the room.
func (im *imaging) drop(l *lens) {
	for k, a := range l.augmenters {
		if a != nil {
			_ = a.Close() // which frees memory
		}
		l.augmenters[k], l.shared[k], l.kept[k] = nil, nil, 0
	}
	if l.more > 0 {
		im.shared.Release(mem.Scratch, l.more)
		im.charge(-l.more)
		l.more = 0
	}
}

// augmenter returns the lens's augmenter of a column.
func (im *imaging) augmenter(l *lens, k int) (a *images.Augmenter, err error) {
	switch m := im.columns[k]; {
	case l.augmenters[k] != nil:
	case m.share != nil:
		err = im.openShared(l, m.share)
	default:
		l.augmenters[k], err = m.augmenter(im.open)
	}
	return l.augmenters[k], err
}

// errNullImage reports a row without a file.
var errNullImage = errors.New("it is null")

// blank writes the image of a row without a file, or reports the row.
func (im *imaging) blank(l *lens, k int, f imageFile) error {
	m := im.columns[k]
	if !m.options.Null.Given {
		return m.missing()
	}
	a, err := im.augmenter(l, k)
	if err != nil {
		return err
	}
	if f.job != nil {
		f.job.sizes[k][f.row] = image.Point{}
	}
	return a.Blank(f.dst)
}

// missing is the error of a row without a file. Hugging Face's library also writes pictures as
// paths beside null bytes.
func (m *imageColumn) missing() error {
	switch {
	case m.options.Array != nil:
		return errNullImage
	case strings.HasSuffix(m.name, ".bytes"):
		return fmt.Errorf("%w: files that a path beside the bytes names are not read, so embed them when the data set is written; null=0 of its Image makes such images black", errNullImage)
	}
	return fmt.Errorf("%w; null=0 of its Image makes such images black", errNullImage)
}

// isLostImage reports whether an error is the fault of the row's file, not of the decoder or the
// memory.
func isLostImage(err error) bool {
	var file *codec.Error
	return errors.Is(err, errNullImage) || errors.As(err, &file)
}

// An imageFile is a file to decode, and where to.
type imageFile struct {
	dst, data []byte
	seed      uint64
	first     bool      // of its column's share
	job       *imageJob // notes the size before the file is decoded; nil: nothing asks for it
	row       int
}

// apply writes the tensor of a file. A panic is an error, since files are of any origin.
func (im *imaging) apply(ctx context.Context, l *lens, k int, f imageFile) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &Error{Err: &iterable.PanicError{Value: v}, Stack: debug.Stack()}
		}
	}()
	if f.data == nil {
		return im.blank(l, k, f)
	}
	o := &im.columns[k].options
	if o.Array != nil {
		return o.Array.DecodeTo(f.dst, f.data)
	}
	a, err := im.augmenter(l, k)
	if err != nil {
		return err
	}
	h, err := im.header(l, k, f)
	if err == nil && f.job != nil {
		err = f.job.sized(k, f.row, o.Size(h))
	}
	if err != nil {
		return err
	}
	if need := im.need(l, k, h); need > l.kept[k] {
		if err := im.admit(ctx, l, k, need, h); err != nil {
			return err
		}
		if a, err = im.augmenter(l, k); err != nil {
			return err
		}
	}
	if f.first {
		im.expect(l, k, f, h)
	}
	if err = a.ApplyTo(f.dst, f.data, h, f.seed); err == nil {
		im.made.Add(1)
	}
	return err
}

// admit reserves the memory of an image that takes more than the column's earlier ones.
func (im *imaging) admit(ctx context.Context, l *lens, k int, need int64, h codec.Header) error {
	all := need
	for i, n := range l.kept {
		if i != k {
			all += n
		}
	}
	if all <= im.each+l.more {
		l.kept[k] = need
		return nil
	}
	im.drop(l) // a waiter holds nothing
	if more := max(0, need-im.each); more > 0 {
		if more > im.room {
			return &imageMemoryError{header: h, need: need, room: im.each + im.room}
		}
		if err := im.shared.Acquire(ctx, mem.Scratch, more); err != nil {
			return err
		}
		im.charge(more)
		l.more = more
	}
	l.kept[k] = need
	return nil
}

// An imageMemoryError reports an image that can never fit.
type imageMemoryError struct {
	header     codec.Header
	need, room int64
}

func (e *imageMemoryError) Error() string { return e.Spelled(option.Go) }

// Spelled is the message with options as name spells them.
func (e *imageMemoryError) Spelled(name func(field string) string) string {
	return option.Spell(fmt.Sprintf("memory: a %v of %d x %d pixels takes up to %s to decode, and the memory has %s for an image; raise {Memory}, or lower {MaxPixels} of the column, which makes such files lost data",
		e.header.Format, e.header.Width, e.header.Height, mem.Bytes(e.need), mem.Bytes(e.room)), name)
}

func (e *imageMemoryError) Unwrap() error {
	return &mem.OverLimit{Need: mem.Amounts{mem.Scratch: e.need}, Limit: e.room}
}
