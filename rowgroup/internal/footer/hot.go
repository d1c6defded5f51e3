package footer

import (
	"context"
	"encoding/binary"
	"sync"

	"github.com/dgraph-io/ristretto/v2"

	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// Hot keeps in memory what is small, asked for again and again, and costs a request each time: the
// footers of shards, and the dictionaries of row groups that are read in slices. Manifests may
// share one. What it holds never changes and belongs to the garbage collector, and it may forget
// anything at any time, so that speed alone depends on it. It is safe for concurrent use; a nil Hot
// keeps nothing.
type Hot struct {
	largest int64 // bytes of the largest thing that is kept
	footers flights[indexEntry]
	dicts   flights[[]byte]

	mu    sync.RWMutex // read-locked while the cache is used, which must not be closed then
	cache *ristretto.Cache[string, hotItem]
}

// A hotItem knows its key, because the cache compares only the hashes of keys.
type hotItem struct {
	key   string
	value any
}

const (
	hotShare    = 20 // the largest thing that is kept takes 1/hotShare of the whole
	hotOverhead = 192
	hotUsual    = 4 << 10 // bytes of a usual thing, from which the number of counters follows
	hotGets     = 64      // lookups that are noted at once
)

// NewHot returns a Hot that holds at most bytes bytes, or nil if bytes is not positive. Its tables
// come on top: a thousandth, and half a MiB.
func NewHot(bytes int64) *Hot {
	if bytes <= 0 {
		return nil
	}
	cache, err := ristretto.NewCache(&ristretto.Config[string, hotItem]{
		NumCounters: 10 * max(bytes/hotUsual, 1<<10), MaxCost: bytes, BufferItems: hotGets, IgnoreInternalCost: true,
	})
	if err != nil {
		panic("footer: " + err.Error()) // the settings above are valid
	}
	return &Hot{largest: bytes / hotShare, cache: cache}
}

// Close forgets everything and ends the goroutines. It may be called twice; manifests that still
// use the Hot find nothing in it.
func (h *Hot) Close() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cache.Close()
	h.cache = nil
}

func (h *Hot) get(key string) (any, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	item, ok := h.cache.Get(key) // finds nothing in nil
	return item.value, ok && item.key == key
}

// set stores a value of the given size; the cache may decline it.
func (h *Hot) set(key string, value any, bytes int64) {
	bytes += int64(2*len(key)) + hotOverhead
	if bytes > h.largest {
		return
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	h.cache.Set(key, hotItem{key: key, value: value}, bytes)
}

// Kinds of keys.
const (
	hotFooter = 'f'
	hotSchema = 's'
	hotDict   = 'd'
)

// hotKey is the key of something of a shard, at its version.
func hotKey(kind byte, k Key, off int64) string {
	b := append(make([]byte, 0, 40), kind)
	b = append(append(b, k.identity[:]...), k.version[:]...)
	return string(binary.AppendUvarint(b, uint64(off)))
}

// A hotRecord is a footer as it is kept: most shards have one schema, which is kept once.
type hotRecord struct {
	record []byte
	schema schema.ID
}

// footer returns what is kept of a shard's footer, or else what read returns, which is kept then.
// While one reads, others wait for that.
func (h *Hot) footer(ctx context.Context, key Key, read func() (indexEntry, error)) (indexEntry, error) {
	if h == nil {
		return read()
	}
	for {
		if e, ok := h.findFooter(key); ok {
			return e, nil
		}
		name := hotKey(hotFooter, key, 0)
		f, mine := h.footers.claim(name)
		if mine {
			return h.readFooter(name, f, read)
		}
		if e, ok, err := f.wait(ctx); ok || err != nil {
			return e, err
		}
	}
}

// readWith reads a footer for all who wait.
func (h *Hot) readFooter(name string, f *flight[indexEntry], read func() (indexEntry, error)) (e indexEntry, err error) {
	ok := false
	defer func() { h.footers.land(name, f, e, ok) }() // also after a panic of the store's
	if e, err = read(); err != nil {
		return e, err
	}
	ok = true
	h.set(name, hotRecord{record: e.record, schema: e.schema.ID}, int64(cap(e.record)))
	s := hotSchemaKey(e.schema.ID)
	if _, known := h.get(s); !known {
		h.set(s, e.schema, int64(cap(e.schema.Elements)+cap(e.schema.Declared)))
	}
	return e, nil
}

func (h *Hot) findFooter(key Key) (indexEntry, bool) {
	r, ok := h.get(hotKey(hotFooter, key, 0))
	if !ok {
		return indexEntry{}, false
	}
	record := r.(hotRecord)
	s, ok := h.get(hotSchemaKey(record.schema))
	if !ok {
		return indexEntry{}, false
	}
	return indexEntry{key: key, record: record.record, schema: s.(schema.Bytes)}, true
}

func hotSchemaKey(id schema.ID) string { return string(append([]byte{hotSchema}, id[:]...)) }
