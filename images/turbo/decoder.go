package turbo

import (
	"errors"
	"fmt"
	"image"
	"slices"
	"strings"
	"unsafe"

	"github.com/shardfeed/shardfeed/images/codec"
)

// The library's numbers (turbojpeg.h).
const (
	initDecompress = 1 // TJINIT_DECOMPRESS

	paramJPEGWidth  = 5  // TJPARAM_JPEGWIDTH
	paramJPEGHeight = 6  // TJPARAM_JPEGHEIGHT
	paramScanLimit  = 13 // TJPARAM_SCANLIMIT
	paramMaxMemory  = 23 // TJPARAM_MAXMEMORY, in megabytes

	formatRGB  = 0  // TJPF_RGB
	formatCMYK = 11 // TJPF_CMYK

	codeWarning = 0 // TJERR_WARNING

	scanLimit = 500 // codec.Limits are checked before; this only stops files that hide scans
)

// A Decoder decodes JPEG with libjpeg-turbo, and everything else with Go.
type Decoder struct {
	library *Library
	handle  uintptr
	rgb     []byte
	rest    codec.Go

	// What the handle is set to, so that it is not set again.
	megabytes int64
	denom     int
	cropped   bool
}

// New makes a decoder for one goroutine. Close frees it.
func (l *Library) New() (*Decoder, error) {
	d := &Decoder{library: l}
	if err := d.open(); err != nil {
		return nil, err
	}
	return d, nil
}

// open makes a handle, unless there is one.
func (d *Decoder) open() error {
	if d.handle != 0 {
		return nil
	}
	if d.handle = call(d.library.init, initDecompress); d.handle == 0 {
		return errors.New("turbo: libjpeg-turbo is out of memory")
	}
	call(d.library.set, d.handle, paramScanLimit, scanLimit)
	d.megabytes, d.denom, d.cropped = 0, 1, false
	return nil
}

// shut frees the handle.
func (d *Decoder) shut() {
	if d.handle != 0 {
		call(d.library.destroy, d.handle)
	}
	d.handle = 0
}

// Blend implements codec.Blender: JPEG has no alpha.
func (d *Decoder) Blend(background [3]uint16) { d.rest.Blend(background) }

// KeepDepth implements codec.Deepener: these JPEGs have 8 bits.
func (d *Decoder) KeepDepth() { d.rest.KeepDepth() }

// Close implements codec.Decoder.
func (d *Decoder) Close() error {
	d.shut()
	d.rgb = nil
	return d.rest.Close()
}

// Memory implements codec.Decoder: the pixels, and the coefficients of a progressive JPEG, which
// are of 2 bytes.
func (d *Decoder) Memory(h codec.Header) int64 {
	if !decodes(h) {
		return d.rest.Memory(h)
	}
	wide := func(n int) int64 { return (int64(n) + 127) &^ 31 }
	each := int64(max(3, h.Components))
	if h.Progressive || h.Components == 4 {
		each += 3 * int64(h.Components)
	}
	return wide(h.Width)*wide(h.Height)*each + 4<<20
}

func decodes(h codec.Header) bool { return h.Format == codec.JPEG }

// Decode implements codec.Decoder.
func (d *Decoder) Decode(data []byte, h codec.Header, r image.Rectangle, denom int) (codec.Pixels, error) {
	if !decodes(h) {
		return d.rest.Decode(data, h, r, denom)
	}
	r = r.Intersect(h.Bounds())
	if r.Empty() {
		return codec.Pixels{}, &codec.Error{Format: h.Format, Text: fmt.Sprintf("the rectangle %v is outside of its %d x %d pixels", r, h.Width, h.Height)}
	}
	switch denom {
	case 1, 2, 4, 8:
	default:
		denom = 1
	}
	return d.jpeg(data, h, r, denom)
}

func (d *Decoder) jpeg(data []byte, h codec.Header, r image.Rectangle, denom int) (codec.Pixels, error) {
	if err := d.open(); err != nil {
		return codec.Pixels{}, err
	}
	p, err := d.part(data, h, r, denom)
	if err != nil {
		// After an error in a header a handle is in the middle of it, and takes the next file for
		// the rest (libjpeg-turbo 3.1.0).
		d.shut()
	}
	return p, err
}

func (d *Decoder) part(data []byte, h codec.Header, r image.Rectangle, denom int) (codec.Pixels, error) {
	l := d.library
	file, size := unsafe.SliceData(data), uintptr(len(data))
	if n := d.Memory(h)>>20 + 1; n != d.megabytes {
		call(l.set, d.handle, paramMaxMemory, uintptr(n))
		d.megabytes = n
	}
	if failed(call(l.header, d.handle, uintptr(unsafe.Pointer(file)), size)) {
		if err := d.failure(); err != nil {
			return codec.Pixels{}, err
		}
	}
	width, height := int(int32(call(l.get, d.handle, paramJPEGWidth))), int(int32(call(l.get, d.handle, paramJPEGHeight)))
	if width != h.Width || height != h.Height {
		return codec.Pixels{}, &codec.Error{Format: h.Format, Text: fmt.Sprintf("its header says %d x %d, libjpeg-turbo %d x %d", h.Width, h.Height, width, height)}
	}
	covered := d.choose(h, r, denom)
	format, each := uintptr(formatRGB), 3
	if h.Components == 4 {
		format, each = formatCMYK, 4
	}
	n := each * covered.Dx() * covered.Dy()
	d.rgb = slices.Grow(d.rgb[:0], n)[:n]
	if failed(call(l.decompress, d.handle, uintptr(unsafe.Pointer(file)), size, uintptr(unsafe.Pointer(unsafe.SliceData(d.rgb))), uintptr(each*covered.Dx()), format)) {
		if err := d.failure(); err != nil {
			return codec.Pixels{}, err
		}
	}
	if each == 4 {
		uninvert(d.rgb)
	}
	return codec.Pixels{RGB: d.rgb[:3*covered.Dx()*covered.Dy()], Rect: covered, Denom: denom}, nil
}

// choose sets the scale and the part that is decoded, and returns the part.
func (d *Decoder) choose(h codec.Header, r image.Rectangle, denom int) image.Rectangle {
	l := d.library
	if denom != d.denom {
		call(l.scale, d.handle, pair(1, denom))
		d.denom = denom
	}
	covered, all := align(h, r, denom), scaled(h, denom)
	if covered == all { // sets nothing: a region of the whole costs a few percent
		d.uncrop()
		return all
	}
	d.cropped = true
	if failed(call(l.crop, d.handle, pair(covered.Min.X, covered.Min.Y), pair(covered.Dx(), covered.Dy()))) {
		// A sampling that the library has no name for: the whole picture.
		d.uncrop()
		return all
	}
	return covered
}

// uncrop makes the handle decode whole pictures.
func (d *Decoder) uncrop() {
	if d.cropped {
		call(d.library.crop, d.handle, 0, 0)
		d.cropped = false
	}
}

// pair is a struct of two C ints in a register, as both architectures pass it.
func pair(a, b int) uintptr { return uintptr(uint32(a)) | uintptr(uint32(b))<<32 }

func failed(result uintptr) bool { return int32(result) < 0 }

// scaled is the whole picture at a scale.
func scaled(h codec.Header, denom int) image.Rectangle {
	return image.Rect(0, 0, up(h.Width, denom), up(h.Height, denom))
}

func up(n, by int) int { return (n + by - 1) / by }

// align returns the rectangle to decode for r at a scale: it starts at an MCU boundary and has one
// more MCU on both sides.
func align(h codec.Header, r image.Rectangle, denom int) image.Rectangle {
	mcu := up(h.MCUWidth, denom)
	all := scaled(h, denom)
	x := max(0, r.Min.X/denom/mcu-1) * mcu
	return image.Rect(x, r.Min.Y/denom, up(r.Max.X, denom)+mcu, up(r.Max.Y, denom)).Intersect(all)
}

// failure is the error of the last call, or nil for a warning that does no harm. The library
// keeps the first warning; that the end marker is there has been checked before.
func (d *Decoder) failure() error {
	l := d.library
	words := text(call(l.errorText, d.handle))
	if int32(call(l.errorCode, d.handle)) == codeWarning && strings.Contains(words, "extraneous bytes before marker") {
		return nil
	}
	_, after, found := strings.Cut(words, "(): ") // the name of the function
	if found {
		words = after
	}
	return &codec.Error{Format: codec.JPEG, Text: "it is damaged: " + words}
}

// uninvert turns inverted CMYK in place into RGB: C*K/255 and so on.
func uninvert(pix []byte) {
	o := pix
	for ; len(pix) >= 4; o, pix = o[3:], pix[4:] {
		c, m, y, k := uint32(pix[0]), uint32(pix[1]), uint32(pix[2]), uint32(pix[3])
		o[0], o[1], o[2] = mul255(c, k), mul255(m, k), mul255(y, k)
	}
}

func mul255(a, b uint32) byte {
	v := a*b + 128
	return byte((v + v>>8) >> 8)
}
