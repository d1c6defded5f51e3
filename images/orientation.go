package images

import (
	"image"

	"github.com/shardfeed/shardfeed/images/codec"
)

// mirrored reports for each axis of the upright picture whether it runs against the stored one.
// EXIF's orientations 5 to 8 also exchange the axes.
func mirrored(orientation int) (x, y bool) {
	switch orientation {
	case 2, 6:
		return true, false
	case 3, 7:
		return true, true
	case 4, 8:
		return false, true
	}
	return false, false
}

// upright maps a rectangle of the stored picture at a scale to the upright picture.
func upright(r image.Rectangle, h codec.Header, denom int) image.Rectangle {
	if h.Orientation >= 5 {
		r = transposed(r)
	}
	return mirror(r, h, denom)
}

// stored is the inverse of upright.
func stored(r image.Rectangle, h codec.Header, denom int) image.Rectangle {
	r = mirror(r, h, denom)
	if h.Orientation >= 5 {
		r = transposed(r)
	}
	return r
}

func transposed(r image.Rectangle) image.Rectangle {
	return image.Rect(r.Min.Y, r.Min.X, r.Max.Y, r.Max.X)
}

// mirror mirrors a rectangle of the upright picture on the sides that run backwards.
func mirror(r image.Rectangle, h codec.Header, denom int) image.Rectangle {
	width, height := h.Size()
	width, height = (width+denom-1)/denom, (height+denom-1)/denom
	x, y := mirrored(h.Orientation)
	if x {
		r.Min.X, r.Max.X = width-r.Max.X, width-r.Min.X
	}
	if y {
		r.Min.Y, r.Max.Y = height-r.Max.Y, height-r.Min.Y
	}
	return r
}
