package images

import (
	"fmt"
	"image"

	"github.com/shardfeed/shardfeed/images/augment"
	"github.com/shardfeed/shardfeed/images/codec"
)

// A TaskKind is how far the image of a row is made.
type TaskKind int32

// The kinds.
const (
	TaskDone TaskKind = iota // the row has the image's tensor
	TaskJPEG                 // the row has the file of a JPEG
	TaskNone                 // the row has nothing: its image is lost, and zeros
)

// A Task describes to a device that decodes JPEGs how a row's file becomes its image: 24 numbers of
// 4 bytes, in this order. A device makes the image of an Augmenter, which draws the same numbers.
// Pixels differ by the rounding of the decoders, and because a device decodes at full size, as a
// negative ReducingGap does. All numbers except the kind are 0 in a row without a file.
type Task struct {
	Kind          TaskKind
	Width, Height int32 // of the picture as it is stored; in a row that is done, Width is the microseconds that it took
	Orientation   int32 // EXIF's, 1 to 8; 1 where the options ignore it
	Box           [4]int32
	Size, At      [2]int32 // x and y, as in Params; Box is x0, y0, x1 and y1
	Flip          int32
	Order         [4]int32 // of the jitter; 0 without one, as Factor
	Factor        [4]float32
	Components    int32 // of the JPEG: 1 or 3
	Luma          int32 // as in codec.Header
	Bytes         int32 // of the row
}

// NoTasks returns why a device cannot make the images of a column, or "" if it can: images of 3
// channels, by a filter that is antialiased. Options that are not in its list are left to an
// Augmenter.
func (o Options) NoTasks() string {
	d := o.withDefaults()
	switch {
	case d.Array != nil:
		return "it has arrays"
	case d.Channels == 1:
		return "it has 1 channel"
	case d.Channels != 3:
		return fmt.Sprintf("it has %d channels", d.Channels)
	case d.Interpolation.nearest():
		return fmt.Sprintf("its filter is %s", d.Interpolation)
	case d.DType == Uint16:
		return fmt.Sprintf("its elements are %s", d.DType)
	case d.Views > 0:
		return "it has several views"
	case d.Of != "":
		return "its files are another column's"
	case d.Augment != augment.Steps{}:
		return "it has steps of augment"
	case o != Options{
		Channels: o.Channels, Height: o.Height, Width: o.Width, Crop: o.Crop, Resize: o.Resize, Scale: o.Scale, Ratio: o.Ratio, Fill: o.Fill,
		Background: o.Background, Null: o.Null, Geometry: o.Geometry, Interpolation: o.Interpolation, Flip: o.Flip, ColorJitter: o.ColorJitter,
		Mean: o.Mean, Std: o.Std, Layout: o.Layout, DType: o.DType, IgnoreOrientation: o.IgnoreOrientation, Exact: o.Exact,
		ReducingGap: o.ReducingGap, MaxBytes: o.MaxBytes, MaxPixels: o.MaxPixels, MaxScans: o.MaxScans,
	}:
		return "it has options that devices do not know"
	}
	return ""
}

// Task returns the task of a file for the options of a column that has tasks. ok is false for a
// file that is left to an Augmenter: it is not a JPEG, or progressive, or of colors or a sampling
// that devices do not know, or it is an error.
func (o Options) Task(data []byte, seed uint64) (t Task, ok bool) {
	o = o.withDefaults()
	h, err := o.header(data)
	if err != nil || !forDevice(h) {
		return t, false
	}
	if o.IgnoreOrientation {
		h.Orientation = 1
	}
	size := o.Size(h)
	p := o.Draw(size.X, size.Y, seed)
	t = Task{
		Kind: TaskJPEG, Width: int32(h.Width), Height: int32(h.Height), Orientation: int32(h.Orientation),
		Box:  [4]int32{int32(p.Box.Min.X), int32(p.Box.Min.Y), int32(p.Box.Max.X), int32(p.Box.Max.Y)},
		Size: [2]int32{int32(p.Size.X), int32(p.Size.Y)}, At: [2]int32{int32(p.At.X), int32(p.At.Y)},
		Components: int32(h.Components), Luma: int32(h.Luma), Bytes: int32(h.Bytes),
	}
	if p.Flip {
		t.Flip = 1
	}
	for i := range t.Order {
		t.Order[i], t.Factor[i] = int32(p.Order[i]), float32(p.Factor[i])
	}
	return t, true
}

// Picture returns the size of the upright picture.
func (t *Task) Picture() image.Point {
	if t.Orientation >= 5 {
		return image.Pt(int(t.Height), int(t.Width))
	}
	return image.Pt(int(t.Width), int(t.Height))
}

// params returns the random part of a task.
func (t *Task) params() Params {
	p := Params{
		Box: image.Rect(int(t.Box[0]), int(t.Box[1]), int(t.Box[2]), int(t.Box[3])), Size: image.Pt(int(t.Size[0]), int(t.Size[1])),
		At: image.Pt(int(t.At[0]), int(t.At[1])), Flip: t.Flip == 1,
	}
	for i := range t.Order {
		p.Order[i], p.Factor[i] = int(t.Order[i]), float64(t.Factor[i])
	}
	return p
}

// ApplyTask writes the image that a task describes, for a file that a device refuses.
func (a *Augmenter) ApplyTask(dst, data []byte, h codec.Header, t *Task) error {
	p := t.params()
	return a.apply(dst, data, h, &p, 0)
}

// forDevice reports whether devices decode a file: a sequential JPEG of one scan, gray or with one
// of nvJPEG's samplings.
func forDevice(h codec.Header) bool {
	if h.Format != codec.JPEG || h.Progressive || h.Scans != 1 {
		return false
	}
	switch h.Luma {
	case 0x11, 0x21, 0x22, 0x12, 0x41, 0x42: // 4:4:4 or gray, 4:2:2, 4:2:0, 4:4:0, 4:1:1 and 4:1:0
		return true
	}
	return false
}
