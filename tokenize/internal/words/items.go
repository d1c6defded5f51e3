package words

import (
	"unsafe"

	"github.com/shardfeed/shardfeed/tokenize/internal/char"
)

const (
	atOnce  = 256     // items between two prefetches
	partBit = 1 << 31 // of the end of an item
	copied  = 4       // tokens that are copied at once
)

// items holds the words to look up together; a long word is there as its parts. An item with
// partBit is a part whose text, as a word, would be another token.
type items struct {
	n, long     int
	ends        [atOnce]uint32
	keys        [atOnce]Key        // of short items; zero for long ones
	hashes      [atOnce]uint32     // of keys
	lines       [atOnce]uint32     // of Tokens, in bytes
	longOffsets [2 * atOnce]uint32 // in the table of long entries, of the two where an item may be

	ids     [atOnce + copied]int32 // of items that are a token, else noToken
	missed  int                    // items without one
	misses  [atOnce]uint32         // their places
	offsets [atOnce]uint32         // of misses in the table of short entries, in bytes; any for long items
}

// start returns the start of the item at w, where the first starts at p.
func (t *items) start(w, p int) int {
	if w == 0 {
		return p
	}
	return int(t.ends[(w-1)&(atOnce-1)] &^ partBit)
}

// end returns the end of the last item.
func (t *items) end() int { return int(t.ends[t.n-1] &^ partBit) }

// A taker goes through the words of a text.
type taker struct {
	char.View
	speller Speller
	start   int      // of the next word
	at      int      // the place in it
	ends    []uint32 // of the words from start on
}

// take takes as many items as fit.
func (t *items) take(from *taker, tokens *Tokens, longShift uint8) {
	t.n, t.long = 0, 0
	lines := uint64(len(tokens.lines))
	for t.n < atOnce && len(from.ends) > 0 {
		if from.at == from.start {
			t.takeShort(from, lines)
			if t.n == atOnce || len(from.ends) == 0 {
				break
			}
		}
		p, end := from.at, from.ends[0]
		if int(end)-from.start > Short {
			end = from.part()
		}
		if q := end &^ partBit; q == from.ends[0] {
			from.start, from.ends = int(q), from.ends[1:]
		}
		from.at = int(end &^ partBit)
		t.add(from.View, p, end, lines, longShift)
	}
}

// takeShort takes short words up to the next long one.
func (t *items) takeShort(from *taker, lines uint64) {
	v, p, n := from.View, from.at, t.n
	for _, end := range from.ends[:min(len(from.ends), atOnce-n)] {
		size := int(end) - p
		if size > Short {
			break
		}
		w := n & (atOnce - 1)
		k := KeyOf(v, p, size)
		h := k.hash32()
		t.ends[w], t.keys[w], t.hashes[w], t.lines[w] = end, k, h, uint32(uint64(h)*lines>>32)*uint32(lineBytes)
		p = int(end)
		n++
	}
	from.ends = from.ends[n-t.n:]
	from.start, from.at, t.n = p, p, n
}

// add adds the item from p to end.
func (t *items) add(v char.View, p int, end uint32, lines uint64, longShift uint8) {
	w, n := t.n&(atOnce-1), int(end&^partBit)-p
	t.n++
	t.ends[w] = end
	if n <= Short {
		k := KeyOf(v, p, n)
		k[1] |= uint64(end&partBit) << 32
		h := k.hash32()
		t.keys[w], t.hashes[w], t.lines[w] = k, h, uint32(uint64(h)*lines>>32)*uint32(lineBytes)
		return
	}
	t.keys[w], t.hashes[w], t.lines[w] = Key{}, 0, 0
	if n <= longMost {
		k := longKeyOf(v, p, n, end&partBit)
		offset, places := uint32(k.hash()>>longShift)*uint32(longBytes), t.longOffsets[t.long&(2*atOnce-2):]
		places[0], places[1] = offset, offset^uint32(longBytes)
		t.long += 2
	}
}

// find finds the items that are tokens. shortShift is 32 less the bits of an index of short entries.
func (t *items) find(tokens *Tokens, shortShift uint8) {
	table, missed := unsafe.Pointer(unsafe.SliceData(tokens.lines)), 0
	for w := range t.n {
		w &= atOnce - 1
		k, l, h := &t.keys[w], (*tokenLine)(unsafe.Add(table, t.lines[w])), t.hashes[w]
		id, a, b, c := int32(noToken), l.ids[0], l.ids[1], l.ids[2]
		if (l.keys[0][0]^k[0])|(l.keys[0][1]^k[1]) == 0 {
			id = a
		}
		if (l.keys[1][0]^k[0])|(l.keys[1][1]^k[1]) == 0 {
			id = b
		}
		if (l.keys[2][0]^k[0])|(l.keys[2][1]^k[1]) == 0 {
			id = c
		}
		if id < 0 {
			if l.overflow>>(h&31)&1 != 0 {
				id = tokens.after(*k, h)
			}
			if id < 0 {
				t.misses[missed&(atOnce-1)] = uint32(w)
				t.offsets[missed&(atOnce-1)] = h >> (shortShift & 31) * uint32(shortBytes)
				missed++
			}
		}
		t.ids[w] = id
	}
	t.missed = missed
}

// part returns the end of the next part of a long word.
func (f *taker) part() uint32 {
	end := f.ends[0]
	if f.at == f.start {
		if _, ok := f.speller.Token(f.Bytes(f.at, int(end))); ok {
			return end
		}
	}
	q := f.speller.Part(f.View, f.at, int(end))
	if f.at == f.start && q == int(end) {
		return end
	}
	if _, ok := f.speller.Token(f.Bytes(f.at, q)); ok {
		return uint32(q) | partBit
	}
	return uint32(q)
}
