package images

import (
	"image"

	"github.com/shardfeed/shardfeed/images/codec"
)

// A Shared has the augmenters of several results of one file, and of several views. The file is
// decoded once for all of them: the rectangle that they need together, at the smallest scale that
// suits each. It is for one goroutine.
type Shared struct {
	decoder    codec.Decoder
	augmenters []*Augmenter
	closed     bool

	// Of the expected file.
	header  codec.Header
	data    []byte
	rect    image.Rectangle
	denom   int
	pixels  codec.Pixels
	decoded bool
}

// SharesWith reports whether results of two options may share the decoding of a file.
func (o Options) SharesWith(other Options) bool {
	shared := func(o Options) bool { // a nearest filter and alpha have samples of their own
		return !o.Interpolation.nearest() && o.Array == nil && o.Channels != 4
	}
	return shared(o) && shared(other) && o.Background == other.Background
}

// NewShared makes augmenters of options that share a decoder, which Close closes.
func NewShared(all []Options, d codec.Decoder) (*Shared, error) {
	s := &Shared{decoder: d}
	for _, o := range all {
		a, err := New(o, d)
		if err != nil {
			return nil, err
		}
		a.decoder = s
		s.augmenters = append(s.augmenters, a)
	}
	return s, nil
}

// Augmenter returns the augmenter of options by their place. Its Memory is without the decoder's.
func (s *Shared) Augmenter(i int) *Augmenter { return s.augmenters[i] }

// Header returns the header of the expected file.
func (s *Shared) Header() codec.Header { return s.header }

// Need is Augmenter.Memory of all augmenters together.
func (s *Shared) Need(h codec.Header) int64 {
	n := s.decoder.Memory(h)
	for _, a := range s.augmenters {
		n += a.Memory(h)
	}
	return n
}

// Expect prepares for the results of a file: seeds calls yield with the place of the options and
// the seed of each. The augmenters' ApplyTo with this file then decodes it once.
func (s *Shared) Expect(data []byte, h codec.Header, seeds func(yield func(i int, seed uint64))) {
	s.header, s.data, s.decoded = h, data, false
	s.denom, s.rect = 8, image.Rectangle{}
	each := func(do func(a *Augmenter, h codec.Header, p *Params)) {
		seeds(func(i int, seed uint64) {
			a, h := s.augmenters[i], h
			if a.options.IgnoreOrientation {
				h.Orientation = 1
			}
			size := a.options.Size(h)
			p := a.options.Draw(size.X, size.Y, seed)
			do(a, h, &p)
		})
	}
	each(func(a *Augmenter, h codec.Header, p *Params) { s.denom = min(s.denom, a.denom(h, p)) })
	each(func(a *Augmenter, h codec.Header, p *Params) {
		s.rect = s.rect.Union(a.needs(h, p, s.denom)).Union(a.needs(h, p, 1)) // for a decoder that cannot scale
	})
}

// Decode implements codec.Decoder.
func (s *Shared) Decode(data []byte, h codec.Header, r image.Rectangle, denom int) (codec.Pixels, error) {
	if len(data) == 0 || len(data) != len(s.data) || &data[0] != &s.data[0] {
		s.data = nil // the decoder's memory has other pixels from now on
		return s.decoder.Decode(data, h, r, denom)
	}
	if !s.decoded {
		var err error
		if s.pixels, err = s.decoder.Decode(data, h, s.rect, s.denom); err != nil {
			return s.pixels, err
		}
		s.decoded = true
	}
	return s.pixels, nil
}

// Memory implements codec.Decoder: what the decoder takes is in Need.
func (s *Shared) Memory(codec.Header) int64 { return 0 }

// Close frees the decoder, once.
func (s *Shared) Close() error {
	if s.closed {
		return nil
	}
	s.closed, s.data, s.pixels = true, nil, codec.Pixels{}
	return s.decoder.Close()
}
