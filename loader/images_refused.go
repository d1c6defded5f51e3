package loader

import (
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
)

// mostOnDevice is the largest file, and the largest image in bytes, that is left to a device: what
// the device refuses comes back in a message of the engine, in base64.
const mostOnDevice = 11 << 20

// A RefusedImage is an image of a batch with an [ImageSplit] that the device cannot decode.
type RefusedImage struct {
	Column string  `json:"column"`
	Row    int64   `json:"row"`  // as the column DeviceRows has it
	Task   []int32 `json:"task"` // as the column of DeviceSuffix has it
	File   []byte  `json:"file"`
}

// An ImageMender makes the images that a device refuses, one at a time. It keeps no memory between
// them. Its methods are safe for concurrent use.
type ImageMender struct {
	columns map[string]*imageColumn
	open    func() (codec.Decoder, error)
	placeOf func(row int64) (iterable.RowPlace, error)
	onError iterable.OnError
	mu      sync.Mutex
}

// NewImageMender makes a mender for the batches of a data set, by the options of their loader.
func NewImageMender(ds *iterable.Dataset, o Options) (*ImageMender, error) {
	o.ImageSplit = NewImageSplit(0)
	shape, err := o.Shape(ds.BatchSchema())
	if err != nil {
		return nil, err
	}
	m := &ImageMender{columns: map[string]*imageColumn{}, open: o.ImageDecoder, placeOf: ds.Locate, onError: ds.OnError()}
	if m.open == nil {
		m.open = goDecoder
	}
	for _, c := range shape.devices() {
		m.columns[c.name] = c
	}
	return m, nil
}

// Make returns the image, with the crop, flip and colors of its task. An image that cannot be
// decoded here either is a loss under iterable.Mask and iterable.Skip, and an error otherwise.
func (m *ImageMender) Make(r RefusedImage) (pixels []byte, loss *iterable.Loss, err error) {
	c, ok := m.columns[r.Column]
	if !ok || len(r.Task) != taskInts {
		return nil, nil, fmt.Errorf("no column %q has images on a device with tasks of %d numbers", r.Column, len(r.Task))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	pixels, err = m.decode(c, &r)
	if err == nil {
		return pixels, nil, nil
	}
	x := imageLoss(m.placeOf, r.Row, r.Column, err)
	if isLostImage(err) && m.onError != iterable.Raise {
		return nil, &x, nil
	}
	return nil, nil, &Error{Op: stageNames[stageImages], Epoch: -1, Err: m.onError.Hinted(x.Err)}
}

func (m *ImageMender) decode(c *imageColumn, r *RefusedImage) (pixels []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			pixels, err = nil, &Error{Err: &iterable.PanicError{Value: v}, Stack: debug.Stack()}
		}
	}()
	a, err := c.augmenter(m.open)
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.Close() }() // which frees memory
	h, err := a.Header(r.File)
	if err != nil {
		return nil, err
	}
	pixels = make([]byte, c.bytes)
	return pixels, a.ApplyTask(pixels, r.File, h, &mem.As[images.Task](mem.AsBytes(r.Task))[0])
}
