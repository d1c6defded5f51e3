package words

import "github.com/shardfeed/shardfeed/tokenize/internal/char"

const (
	atOnce  = 256     // items between two prefetches
	partBit = 1 << 31 // of the end of an item
)

// items holds the words to look up together; a long word is there as its parts. An item with
// partBit is a part whose text, as a word, would be another token.
type items struct {
	n, long     int
	ends        [atOnce]uint32
	keys        [atOnce]Key        // of short items
	offsets     [atOnce]uint32     // in the table of short entries, in bytes; 0 for long items
	longOffsets [2 * atOnce]uint32 // in the table of long entries, of the two where an item may be
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
func (t *items) take(from *taker, shortShift, longShift uint8) {
	t.n, t.long = 0, 0
	for t.n < atOnce && len(from.ends) > 0 {
		p, end := from.at, from.ends[0]
		if int(end)-from.start > Short {
			end = from.part()
		}
		if q := end &^ partBit; q == from.ends[0] {
			from.start, from.ends = int(q), from.ends[1:]
		}
		from.at = int(end &^ partBit)
		t.add(from.View, p, end, shortShift, longShift)
	}
}

// add adds the item from p to end.
func (t *items) add(v char.View, p int, end uint32, shortShift, longShift uint8) {
	w, n := t.n&(atOnce-1), int(end&^partBit)-p
	t.n++
	t.ends[w] = end
	if n <= Short {
		k := KeyOf(v, p, n)
		k[1] |= uint64(end&partBit) << 32
		t.keys[w], t.offsets[w] = k, uint32(k.Hash()>>shortShift)*uint32(shortBytes)
		return
	}
	t.offsets[w] = 0
	if n <= longMost {
		k := longKeyOf(v, p, n, end&partBit)
		offset, places := uint32(k.hash()>>longShift)*uint32(longBytes), t.longOffsets[t.long&(2*atOnce-2):]
		places[0], places[1] = offset, offset^uint32(longBytes)
		t.long += 2
	}
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
