package loader

import (
	"errors"
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/codec"
)

// An imageShare is the columns of images, or the views of one, that are made of the same files.
// Each file is decoded once for all of them. The first column draws, and reserves the memory of
// all.
type imageShare struct{ columns []*imageColumn }

// shareImages finds the columns of the same files. It leaves out columns that follow the draw of
// another file, because that file must come first.
func shareImages(all []*imageColumn) {
	for _, first := range all {
		if first.share != nil || first.like != "" || !first.shares(first) {
			continue
		}
		s, views := &imageShare{}, 0
		for _, m := range all {
			if m.like == "" && first.shares(m) {
				s.columns = append(s.columns, m)
			}
		}
		for _, m := range all {
			led := slices.ContainsFunc(s.columns, func(lead *imageColumn) bool { return lead.name == m.like })
			if led && first.shares(m) {
				s.columns = append(s.columns, m)
			}
		}
		for _, m := range s.columns {
			views += m.views
		}
		for _, m := range s.columns {
			if views > 1 {
				m.share = s
			}
		}
	}
}

// shares reports whether two columns can be made of one decoded file.
func (m *imageColumn) shares(other *imageColumn) bool {
	same := m.column == other.column && slices.Equal(m.path, other.path)
	return same && m.list == nil && !m.device && !other.device && m.options.SharesWith(other.options)
}

// leads reports whether a column reserves the memory of its share.
func (m *imageColumn) leads() bool { return m.share != nil && m.share.columns[0] == m }

// open opens the augmenters of a share.
func (s *imageShare) open(open func() (codec.Decoder, error)) (*images.Shared, error) {
	d, err := open()
	if err != nil {
		return nil, fmt.Errorf("no decoder for images: %w", err)
	}
	var all []images.Options
	for _, m := range s.columns {
		all = append(all, m.options)
	}
	shared, err := images.NewShared(all, d)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return shared, nil
}

// openShared gives a lens the augmenters of a share.
func (im *imaging) openShared(l *lens, s *imageShare) error {
	shared, err := s.open(im.open)
	if err != nil {
		return err
	}
	for i, m := range s.columns {
		l.augmenters[m.place], l.shared[m.place] = shared.Augmenter(i), shared
	}
	return nil
}

// need returns the memory of a column's image, or of all images of its share.
func (im *imaging) need(l *lens, k int, h codec.Header) int64 {
	switch m := im.columns[k]; {
	case m.leads():
		return l.shared[k].Need(h)
	case m.share != nil:
		return 0
	}
	return l.augmenters[k].Memory(h)
}

// header reads the header of a file, once for all results of it.
func (im *imaging) header(l *lens, k int, f imageFile) (codec.Header, error) {
	if im.columns[k].share == nil || f.first {
		return l.augmenters[k].Header(f.data)
	}
	h := l.shared[k].Header()
	return h, l.augmenters[k].Check(h)
}

// expect prepares for the results of a file.
func (im *imaging) expect(l *lens, k int, f imageFile, h codec.Header) {
	l.shared[k].Expect(f.data, h, func(yield func(i int, seed uint64)) {
		for i, m := range im.columns[k].share.columns {
			for view := range m.views {
				seed, _ := f.job.names.keyOf(f.row, m.number+view).pcg()
				yield(i, seed)
			}
		}
	})
}
