package rowgroup

import (
	"cmp"
	"errors"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

// A tokenSink takes the items of a list, of all rows one after another.
type tokenSink struct {
	parts []tokenPart
	at    int // the part that is filled
	width int
}

// A tokenPart is where items that follow each other go; nil is nowhere.
type tokenPart struct {
	to    []byte
	items int
}

func (s *tokenSink) add(to []byte, items int) {
	if items > 0 {
		s.parts = append(s.parts, tokenPart{to: to, items: items})
	}
}

// next is where the next items go, n at most; k is 0 when there are no more.
func (s *tokenSink) next(n int) (to []byte, k int) {
	if s.at == len(s.parts) {
		return nil, 0
	}
	p := &s.parts[s.at]
	k = min(n, p.items)
	if p.to != nil {
		to = p.to[:k*s.width]
		p.to = p.to[k*s.width:]
	}
	if p.items -= k; p.items == 0 {
		s.at++
	}
	return to, k
}

func (s *tokenSink) complete() bool { return s.at == len(s.parts) }

// sinkPage gives a page's values to the sink.
func (c *leafDecoder) sinkPage(p *page, o *openPage, slots, present int) error {
	switch {
	case present < slots:
		return ErrNotDirect
	case present == 0:
		return nil
	case p.IsDictionary():
		return c.storeCoded(nil, o.values, present)
	case p.Encoding == format.Plain && c.inPlace():
		if present*c.stored > len(o.values)+o.more {
			return parquet.ErrShort
		}
		return c.sinkSteps(o, present)
	}
	values := c.d.wide.take(present * c.unit)
	if err := c.storeFixed(p.Encoding, values, o.values, present); err != nil {
		return err
	}
	return c.sinkValues(values, present)
}

func (c *leafDecoder) sinkValues(values []byte, n int) error {
	for n > 0 {
		to, k := c.sink.next(n)
		if k == 0 {
			return ErrNotDirect
		}
		copy(to, values[:k*c.unit])
		values, n = values[k*c.unit:], n-k
	}
	return nil
}

// sinkRun gives the values of a run of codes to the sink.
func (c *leafDecoder) sinkRun(r *parquet.Runs) error {
	packed, n := r.Packed, r.N
	switch {
	case packed == nil && int64(r.Value) >= int64(c.dict.n):
		return errCode(c.dict.n)
	case packed != nil && r.Width == 16 && (c.unit == 4 || c.unit == 8):
		return c.sinkShorts(packed, n)
	}
	for n > 0 {
		block := c.d.codes[:min(len(c.d.codes), n)]
		if packed == nil {
			fillWith(block, r.Value)
		} else {
			parquet.Unpack(block, packed, r.Width)
		}
		if err := c.sinkBlock(block); err != nil {
			return err
		}
		if n -= len(block); n > 0 && packed != nil {
			packed = packed[len(block)*int(r.Width)/8:]
		}
	}
	return nil
}

func fillWith(dst []uint32, v uint32) {
	for i := range dst {
		dst[i] = v
	}
}

// sinkBlock gives the values of a few codes to the sink. Codes whose values go nowhere are checked
// too.
func (c *leafDecoder) sinkBlock(block []uint32) error {
	for len(block) > 0 {
		to, k := c.sink.next(len(block))
		if k == 0 {
			return ErrNotDirect
		}
		if to == nil {
			to = c.d.wide.take(len(c.d.codes) * c.unit)[:k*c.unit]
		}
		if !c.storeBlock(to, block[:k]) {
			return errCode(c.dict.n)
		}
		block = block[k:]
	}
	return nil
}

// sinkShorts is sinkBlock for codes of two bytes, which need no unpacking.
func (c *leafDecoder) sinkShorts(packed []byte, n int) error {
	for n > 0 {
		to, k := c.sink.next(n)
		if k == 0 {
			return ErrNotDirect
		}
		if to == nil {
			to = c.d.wide.take(k * c.unit)
		}
		ok := false
		if c.unit == 4 {
			ok = lookUpShorts(mem.As[uint32](to)[:k], mem.As[uint32](c.dict.table), packed)
		} else {
			ok = lookUpShorts(mem.As[uint64](to)[:k], mem.As[uint64](c.dict.table), packed)
		}
		if !ok {
			return errCode(c.dict.n)
		}
		packed, n = packed[2*k:], n-k
	}
	return nil
}

const (
	stepsDefault = 4 << 20   // bytes of a page that is decompressed in steps
	levelsRoom   = 1 << 20   // for the levels of such a page
	stepBytes    = 256 << 10 // about, which stay in the processor's caches
)

// inSteps reports whether a page is large and its values go to the sink as they are: then it is
// decompressed in steps, so that it is never whole in memory.
func (c *leafDecoder) inSteps(p *page, size int) bool {
	const rle = format.RLE
	return c.sink != nil && size >= cmp.Or(c.d.stepsFrom, stepsDefault) && c.chunk.codec == format.Zstd && !p.PlainBody && p.Encoding == format.Plain && c.inPlace() &&
		(p.Kind == format.DataPageV2 || (c.leaf.MaxRep == 0 || p.RepEncoding == rle) && (c.leaf.MaxDef == 0 || p.DefEncoding == rle))
}

// openSteps decompresses the levels of a page of size bytes, and maybe some of its values. It
// returns ErrNotDirect if that takes the whole page.
func (c *leafDecoder) openSteps(p *page, body []byte, size int, o *openPage) ([]byte, error) {
	runs := 0
	if p.Kind == format.DataPage {
		runs = min(1, c.leaf.MaxRep) + min(1, c.leaf.MaxDef)
	}
	dst := c.d.page.take(min(size, levelsRoom))
	err := c.d.codecs.BeginZstd(body)
	n := 0
	if err == nil {
		n, err = c.d.codecs.LevelsZstd(dst, runs)
	}
	if err != nil {
		return nil, c.endSteps(err)
	}
	o.steps, o.more = true, size-n
	return dst[:n], nil
}

func (c *leafDecoder) endSteps(err error) error {
	if end := c.d.codecs.EndZstd(err == nil); err == nil {
		err = end
	}
	if errors.Is(err, parquet.ErrNoStream) {
		return ErrNotDirect
	}
	return err
}

// sinkSteps passes n values to the sink, and decompresses more of the page as needed.
func (c *leafDecoder) sinkSteps(o *openPage, n int) error {
	if !o.steps {
		return c.sinkValues(o.values, n)
	}
	buf := c.d.wide.take(max(stepBytes, len(o.values)))
	for have := copy(buf, o.values); ; {
		k := min(n, have/c.unit)
		if err := c.sinkValues(buf, k); err != nil {
			return c.endSteps(err)
		}
		n -= k
		if o.more == 0 {
			return c.endSteps(nil)
		}
		rest := 0
		if n > 0 { // else padding follows
			rest = copy(buf, buf[k*c.unit:have])
		}
		next := min(o.more, len(buf)-rest)
		if err := c.d.codecs.NextZstd(buf[rest : rest+next]); err != nil {
			return c.endSteps(err)
		}
		have, o.more = rest+next, o.more-next
	}
}
