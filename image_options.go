package shardfeed

import (
	"github.com/shardfeed/shardfeed/images/codec"
)

// The decoders of images, by the names that ImageDecoder has for them.
const (
	AutoDecoder  = "auto"
	TurboDecoder = "turbo"
	GoDecoder    = "go"
)

// decoder makes decoders of images, nil where the loader's own will do.
func (s Spec) decoder() func() (codec.Decoder, error) {
	if s.ImageDecoder != TurboDecoder {
		return nil
	}
	return func() (codec.Decoder, error) {
		return nil, &OptionError{Field: "ImageDecoder", Text: "is turbo, which this program has not loaded: give the loader a decoder of package images/turbo"}
	}
}

// declared reports whether petastorm's schema says how a column is decoded.
func (s Spec) declared() bool {
	for _, o := range s.Images {
		if o.Declared {
			return true
		}
	}
	return false
}
