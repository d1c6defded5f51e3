package main

import (
	"fmt"
	"sync"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/images/turbo"
	"github.com/shardfeed/shardfeed/internal/cores"
)

// imageDecoders choose who decodes JPEG. libjpeg-turbo is looked for once, when it is first wanted.
type imageDecoders struct {
	load func() (*turbo.Library, error)
}

func newImageDecoders() *imageDecoders {
	return &imageDecoders{load: sync.OnceValues(func() (*turbo.Library, error) {
		l, err := turbo.Load("")
		if err == nil {
			cores.KeepInC()
		}
		return l, err
	})}
}

// An imageDecoder decodes the images of a data set.
type imageDecoder struct {
	name    string // shardfeed.TurboDecoder or GoDecoder; "": there are no images
	library string // libjpeg-turbo's file
	missing error  // why libjpeg-turbo is missing, if it was wanted
	make    func() (codec.Decoder, error)
}

// of is the decoder that a spec asks for.
func (d *imageDecoders) of(s shardfeed.Spec) (imageDecoder, error) {
	if len(s.Images) == 0 {
		return imageDecoder{}, nil
	}
	inGo := imageDecoder{name: shardfeed.GoDecoder, make: func() (codec.Decoder, error) { return &codec.Go{}, nil }}
	if s.ImageDecoder == shardfeed.GoDecoder {
		return inGo, nil
	}
	library, err := d.load()
	switch {
	case err == nil:
		return imageDecoder{name: shardfeed.TurboDecoder, library: library.Path(), make: func() (codec.Decoder, error) { return library.New() }}, nil
	case s.ImageDecoder == shardfeed.TurboDecoder:
		return imageDecoder{}, &shardfeed.OptionError{
			Field: "ImageDecoder", Text: "is turbo, which cannot be used here; give go, or auto to fall back to go: " + oneLine(err.Error()), Err: err,
		}
	}
	inGo.missing = err
	return inGo, nil
}

// info says who decodes, in a line.
func (d imageDecoder) info() string {
	if d.name == shardfeed.TurboDecoder {
		return "images: JPEG is decoded by libjpeg-turbo, " + d.library
	}
	return "images: JPEG is decoded in Go"
}

// warning reports that libjpeg-turbo is missing, though it would be faster, or "".
func (d imageDecoder) warning() string {
	if d.missing == nil {
		return ""
	}
	return fmt.Sprintf("images: JPEG is decoded in Go, which takes about three times as long as libjpeg-turbo: %s", oneLine(d.missing.Error()))
}
