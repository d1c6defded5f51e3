package augment

import "image"

// A Kind is a kind of change.
type Kind uint8

// The kinds, with the meaning of Op.Value.
const (
	Identity     Kind = iota
	ShearX            // the tangent of the angle, around the upper left corner
	ShearY            // the same
	TranslateX        // pixels to the right
	TranslateY        // pixels down
	Rotate            // degrees, against the clock, around the middle
	Brightness        // a factor
	Contrast          // a factor
	Color             // a factor: saturation
	Hue               // a part of the circle, -0.5 to 0.5
	Sharpness         // a factor
	Posterize         // bits to keep
	Solarize          // the least value that is inverted
	AutoContrast      // spreads each channel over 0 to 255
	Equalize          // evens out the histogram of each channel
	Invert
	Grayscale
	Blur  // the standard deviation of a Gaussian
	Erase // fills Rect
)

func (k Kind) String() string {
	return [...]string{
		"Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Contrast", "Color", "Hue", "Sharpness",
		"Posterize", "Solarize", "AutoContrast", "Equalize", "Invert", "Grayscale", "Blur", "Erase",
	}[k]
}

// An Op is one change of an image of 8-bit RGB pixels.
type Op struct {
	Kind     Kind
	Value    float64
	Bilinear bool            // how ShearX to Rotate sample; false: the nearest pixel
	Fill     [3]int          // outside of the picture after ShearX to Rotate, and of Erase
	Kernel   [2]int          // of Blur: its width and height, odd
	Rect     image.Rectangle // of Erase
}
