package footer

import (
	"bytes"
	"context"

	"github.com/shardfeed/shardfeed/shard"
)

// Dicts are the dictionaries of one fetch that are apart from their data pages.
type Dicts struct {
	hot   *Hot
	shard Key
	mine  []dictFlight // to be read by this fetch, and shared
	other []dictFlight // that another fetch reads now
}

type dictFlight struct {
	piece Piece
	name  string
	*flight[[]byte]
}

// A Piece is bytes that a chunk needs.
type Piece struct {
	shard.Span
	To   *[]byte // destination
	Dict bool    // a dictionary apart from its data pages
}

// NewDicts returns the dictionaries of a shard for one fetch.
func NewDicts(h *Hot, k Key) *Dicts { return &Dicts{hot: h, shard: k} }

// Take removes from the pieces the dictionaries that are kept, or that another fetch reads,
// and returns the rest. It claims the dictionaries among them: the caller calls end.
func (d *Dicts) Take(pieces []Piece) []Piece {
	left := pieces[:0]
	for _, p := range pieces {
		if !p.Dict || p.N > d.hot.largest {
			left = append(left, p)
			continue
		}
		name := hotKey(hotDict, d.shard, p.Off)
		if b, ok := d.hot.get(name); ok && int64(len(b.([]byte))) == p.N {
			*p.To = b.([]byte)
			continue
		}
		f, mine := d.hot.dicts.claim(name)
		if mine {
			d.mine = append(d.mine, dictFlight{p, name, f})
			left = append(left, p)
		} else {
			d.other = append(d.other, dictFlight{p, name, f})
		}
	}
	return left
}

// End hands the dictionaries that were read to those who wait, as copies that outlive the fetch,
// and keeps them; or lets them read it themselves. It does nothing the second time.
func (d *Dicts) End(read bool) {
	for _, f := range d.mine {
		var b []byte
		if read {
			b = bytes.Clone(*f.piece.To)
			d.hot.set(f.name, b, int64(len(b)))
		}
		d.hot.dicts.land(f.name, f.flight, b, read)
	}
	d.mine = nil
}

// Wait waits for the dictionaries that others read and returns the missing ones.
func (d *Dicts) Wait(ctx context.Context) (left []Piece, err error) {
	for _, f := range d.other {
		b, ok, err := f.wait(ctx)
		if err != nil {
			return nil, err
		}
		if ok && int64(len(b)) == f.piece.N {
			*f.piece.To = b
		} else {
			left = append(left, f.piece)
		}
	}
	return left, nil
}

// forgetFooter drops the footer of a shard, which was damaged.
func (h *Hot) forgetFooter(k Key) {
	if h == nil {
		return
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	h.cache.Del(hotKey(hotFooter, k, 0))
}

// ForgetDicts drops dictionaries of a shard, which may be damaged, by their offsets.
func ForgetDicts(h *Hot, k Key, offs []int64) {
	if h == nil {
		return
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, off := range offs {
		h.cache.Del(hotKey(hotDict, k, off))
	}
}
