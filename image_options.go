package shardfeed

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed/images"
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

// imagesText is the images in a short text.
func imagesText(all map[string]images.Options) string {
	var texts []string
	for _, column := range sortedKeys(all) {
		text, err := json.Marshal(all[column])
		if err != nil {
			text = []byte(err.Error()) // NaN, which Validate refuses
		}
		texts = append(texts, fmt.Sprintf("%s=%s", column, text))
	}
	return digestText(strings.Join(texts, ","))
}
