package codec

import (
	"fmt"
	"image"
)

// A Format is how a file is encoded.
type Format uint8

// The formats that can be decoded.
const (
	Unknown Format = iota
	JPEG
	PNG
	WebP
	GIF
	BMP
	TIFF
)

func (f Format) String() string {
	return [...]string{"unknown", "JPEG", "PNG", "WebP", "GIF", "BMP", "TIFF"}[f]
}

// A Header describes an image from the first bytes of its file.
type Header struct {
	Format        Format
	Bytes         int  // of the file
	Width, Height int  // as stored, before Orientation
	Orientation   int  // EXIF's, 1 to 8; 1 is upright
	Components    int  // color channels as stored, with alpha: 1 to 4; 3 of a palette
	Indexed       bool // pixels are indices of a palette
	Bits          int  // of a sample
	Progressive   bool
	Scans         int  // of a JPEG; 1 for other formats
	Restarts      bool // a JPEG has restart markers

	// MCUWidth and MCUHeight are the size in pixels of a JPEG's coding unit, or of a TIFF's strips
	// or tiles; 0 for other formats.
	MCUWidth, MCUHeight int

	// Luma is the sampling of the first component of a JPEG in gray, or in YCbCr with other
	// components that are sampled 1 x 1: the horizontal factor times 16 and the vertical one. It is
	// 0 for all other files, such as a JPEG in RGB or CMYK.
	Luma uint8

	// Frame is the part of the picture that the first frame of a GIF or of an animated WebP has.
	// The rest has the first color of the GIF, or is black. It is empty for others.
	Frame image.Rectangle
}

// Size is the size as a person sees it, after Orientation.
func (h Header) Size() (width, height int) {
	if h.Orientation >= 5 {
		return h.Height, h.Width
	}
	return h.Width, h.Height
}

// Bounds is the rectangle of the stored picture.
func (h Header) Bounds() image.Rectangle { return image.Rect(0, 0, h.Width, h.Height) }

// A Decoder decodes files whose header is known. It is for one goroutine at a time.
type Decoder interface {
	// Decode decodes a rectangle of the stored picture at 1/denom of its size, where denom is 1, 2,
	// 4 or 8 and the format and the decoder can do it: otherwise at the next larger size that they
	// can. The pixels are valid until the next call.
	Decode(data []byte, h Header, r image.Rectangle, denom int) (Pixels, error)

	// Memory is an upper bound of the bytes that decoding any rectangle of such a file holds,
	// without the file: pixels, planes and coefficients.
	Memory(h Header) int64

	// Close frees what the decoder keeps. It is not used after that.
	Close() error
}

// Pixels is a decoded rectangle: 3 samples a pixel.
type Pixels struct {
	RGB   []byte          // rows of Rect.Dx() * 3 samples
	Rect  image.Rectangle // in pixels of the picture at 1/Denom of its size; it covers the rectangle of the request
	Alpha []byte          // a sample a pixel, where [Go.KeepAlpha] asks for it and the file has it
	Deep  bool            // samples have 2 bytes, the upper one first, where [Deepener] asks for them and the file has them
	// Denom is the scale: 1, 2, 4 or 8. A picture of w pixels has ceil(w/Denom) then.
	Denom int
}

// Limits bounds the resources of a file. Zeros mean the defaults.
type Limits struct {
	MaxBytes  int // of the file, default 256 MiB
	MaxPixels int // width x height, default 89,478,485: Pillow's limit
	MaxScans  int // of a progressive JPEG, default 100; encoders write about 10
}

// WithDefaults fills in defaults.
func (l Limits) WithDefaults() Limits {
	set := func(v *int, to int) {
		if *v == 0 {
			*v = to
		}
	}
	set(&l.MaxBytes, 256<<20)
	set(&l.MaxPixels, 89_478_485)
	set(&l.MaxScans, 100)
	return l
}

// Check returns an error if a file exceeds the limits.
func (l Limits) Check(h Header) error {
	l = l.WithDefaults()
	switch {
	case h.Bytes > l.MaxBytes:
		return errorf(h.Format, "the file has %d bytes, at most %d are allowed; raise max_bytes if it is genuine", h.Bytes, l.MaxBytes)
	case int64(h.Width)*int64(h.Height) > int64(l.MaxPixels):
		return errorf(h.Format, "%d x %d is %d pixels, at most %d are allowed; raise max_pixels if it is genuine",
			h.Width, h.Height, int64(h.Width)*int64(h.Height), l.MaxPixels)
	case h.Scans > l.MaxScans:
		return errorf(h.Format, "it has %d scans, at most %d are allowed; it is made to take long", h.Scans, l.MaxScans)
	}
	return nil
}

// An Error says why a file cannot be decoded.
type Error struct {
	Format Format
	Text   string
	Err    error // of the library, or nil
}

func (e *Error) Error() string {
	if e.Format == Unknown {
		return e.Text
	}
	return e.Format.String() + ": " + e.Text
}

func (e *Error) Unwrap() error { return e.Err }

func errorf(f Format, format string, args ...any) *Error {
	return &Error{Format: f, Text: fmt.Sprintf(format, args...)}
}
