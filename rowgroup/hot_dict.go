package rowgroup

import (
	"bytes"
	"context"
)

// hotDicts are the dictionaries of one fetch that lie apart from their data pages.
type hotDicts struct {
	hot   *Hot
	shard shardKey
	mine  []dictFlight // to be read by this fetch, and shared
	other []dictFlight // that another fetch reads now
}

type dictFlight struct {
	piece piece
	name  string
	*flight[[]byte]
}

// take removes from the pieces the dictionaries that are kept, or that another fetch reads,
// and returns the rest. It claims the dictionaries among them: the caller calls end.
func (d *hotDicts) take(pieces []piece) []piece {
	left := pieces[:0]
	for _, p := range pieces {
		if !p.dict || p.N > d.hot.largest {
			left = append(left, p)
			continue
		}
		name := hotKey(hotDict, d.shard, p.Off)
		if b, ok := d.hot.get(name); ok && int64(len(b.([]byte))) == p.N {
			*p.to = b.([]byte)
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

// end hands the dictionaries that were read to those who wait, as copies that outlive the fetch,
// and keeps them; or says that they were not read. It does nothing the second time.
func (d *hotDicts) end(read bool) {
	for _, f := range d.mine {
		var b []byte
		if read {
			b = bytes.Clone(*f.piece.to)
			d.hot.set(f.name, b, int64(len(b)))
		}
		d.hot.dicts.land(f.name, f.flight, b, read)
	}
	d.mine = nil
}

// wait waits for the dictionaries that others read and returns the missing ones.
func (d *hotDicts) wait(ctx context.Context) (left []piece, err error) {
	for _, f := range d.other {
		b, ok, err := f.wait(ctx)
		if err != nil {
			return nil, err
		}
		if ok && int64(len(b)) == f.piece.N {
			*f.piece.to = b
		} else {
			left = append(left, f.piece)
		}
	}
	return left, nil
}

// forgetFooter drops the footer of a shard, which was damaged.
func (h *Hot) forgetFooter(k shardKey) {
	if h == nil {
		return
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	h.cache.Del(hotKey(hotFooter, k, 0))
}

// forgetDicts drops the dictionaries of some chunks, which may be damaged.
func (h *Hot) forgetDicts(k shardKey, chunks []rawChunk) {
	if h == nil {
		return
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, c := range chunks {
		if c.dictLen > 0 {
			h.cache.Del(hotKey(hotDict, k, c.dictOff))
		}
	}
}
