package block

import (
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
)

// A textSource is the views of one block's vector, or codes of them, and the bytes that they refer
// to.
type textSource struct {
	base  unsafe.Pointer
	views source
	near  bool // few bytes, which the caches hold
}

// nearBytes are so few that the first-level cache holds them.
const nearBytes = 16 << 10

// find sets where the picked values start and how many bytes they have, and adds up their bytes.
// Values are byte strings, or lists of items of one width.
func (g *Gatherer) find(a *column.Array, vecs []*Vector, picks []Pick) (total uint64) {
	g.reserve(len(picks))
	ok := false
	switch {
	case g.sorted.has(picks):
		total, ok = g.findSorted(vecs)
	case g.records.has(picks):
		total, ok = g.findCopied(vecs)
	}
	if !ok {
		return g.findAny(a, vecs, picks)
	}
	return total - g.dropNulls(a)
}

// findAny asks each vector, whatever its form.
func (g *Gatherer) findAny(a *column.Array, vecs []*Vector, picks []Pick) (total uint64) {
	if a.Field.Kind == column.Binary {
		for i, p := range picks {
			ptr, n := vecs[p>>32].Value(int(uint32(p)))
			total += g.found(i, &textSource{base: ptr}, uint64(n))
		}
		return total
	}
	width := a.Field.Children[0].Width
	for i, p := range picks {
		ptr, n := vecs[p>>32].ItemBytes(int(uint32(p)), width)
		total += g.found(i, &textSource{base: ptr}, uint64(n))
	}
	return total
}

// found records the place and length of value i, from a view, and prefetches its bytes if they may
// not be in the cache.
func (g *Gatherer) found(i int, t *textSource, view uint64) uint64 {
	ptr, n := unsafe.Add(t.base, uintptr(view>>32)), uint32(view)
	if !t.near {
		prefetch(ptr, min(uintptr(n), prefetchBytes))
	}
	g.ptrs[i], g.lens[i] = ptr, n
	return uint64(n)
}

// textSources finds the views of vectors that have all their bytes in one place; false means that
// some have not.
func (g *Gatherer) textSources(vecs []*Vector) bool {
	g.texts = g.texts[:0]
	for _, v := range vecs {
		t := textSource{base: unsafe.Pointer(&zeros), views: source{data: unsafe.Pointer(&zeros)}} // no bytes at all
		from := v
		if v.Dict != nil {
			from = v.Dict
		}
		switch {
		case v.Data != nil || v.Offsets != nil || from.ChunkShift != 0:
			return false
		case from.Views == nil && from.Slots == nil || from.Len == 0:
		case v.Dict != nil:
			codes, step := v.Codes, v.CodeWidth
			if v.Slots != nil {
				codes, step = v.Slots, v.Step
			}
			t.base, t.views = unsafe.Pointer(unsafe.SliceData(from.Base[0])), codedSource(from, codes, v.CodeWidth, step)
			t.near = len(from.Base[0]) <= nearBytes
			t.views.data = unsafe.Pointer(unsafe.SliceData(from.Views))
		default:
			t.base, t.views = unsafe.Pointer(unsafe.SliceData(v.Base[0])), source{data: unsafe.Pointer(unsafe.SliceData(v.Views)), step: 8}
			if v.Slots != nil {
				t.views = source{data: unsafe.Pointer(unsafe.SliceData(v.Slots)), step: uintptr(v.Step)}
			}
		}
		g.texts = append(g.texts, t)
	}
	return true
}

// findSorted is find of sorted picks, run by run. The bytes of a run without codes are side by
// side, so the processor prefetches them.
func (g *Gatherer) findSorted(vecs []*Vector) (total uint64, ok bool) {
	if !g.textSources(vecs) {
		return 0, false
	}
	s := &g.sorted
	for _, r := range s.runs {
		t, rows, at := &g.texts[r.block], s.rows[r.from:r.end], s.at[r.from:r.end]
		if t.views.width > 0 {
			for k, row := range rows {
				total += g.found(int(at[k]), t, *(*uint64)(t.views.at(uintptr(row), 8)))
			}
			continue
		}
		for k, row := range rows {
			view := *(*uint64)(unsafe.Add(t.views.data, uintptr(row)*t.views.step))
			g.ptrs[at[k]], g.lens[at[k]] = unsafe.Add(t.base, uintptr(view>>32)), uint32(view)
			total += uint64(uint32(view))
		}
	}
	return total, true
}

// findCopied is find of picks whose records were copied; they have views or codes at one place.
func (g *Gatherer) findCopied(vecs []*Vector) (total uint64, ok bool) {
	slot, code, ok := slotOf(vecs, 8)
	if !ok || !g.textSources(vecs) {
		return 0, false
	}
	at := g.records.at(slot)
	for i, p := range g.records.of {
		t, k := &g.texts[p>>32], unsafe.Add(at, i*recordWord)
		switch code {
		case 1:
			k = unsafe.Add(t.views.data, 8*uintptr(*(*uint8)(k)))
		case 2:
			k = unsafe.Add(t.views.data, 8*uintptr(*(*uint16)(k)))
		case 4:
			k = unsafe.Add(t.views.data, 8*uintptr(*(*uint32)(k)))
		}
		total += g.found(i, t, *(*uint64)(k))
	}
	return total, true
}

// dropNulls makes null byte strings empty, since their code is an entry's, and returns how many
// bytes they had.
func (g *Gatherer) dropNulls(a *column.Array) (dropped uint64) {
	if a.Nulls == 0 || a.Field.Kind != column.Binary {
		return 0
	}
	for i := range g.lens {
		if a.IsNull(i) {
			dropped += uint64(g.lens[i])
			g.lens[i] = 0
		}
	}
	return dropped
}
