package rowgroup

import "context"

// A hotRecord is a footer as it is kept: most shards have one schema, which is kept once.
type hotRecord struct {
	record []byte
	schema schemaID
}

// footer returns what is kept of a shard's footer, or else what read returns, which is kept then.
// While one reads, others wait for that.
func (h *Hot) footer(ctx context.Context, key shardKey, read func() (indexEntry, error)) (indexEntry, error) {
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

// readFooter reads a footer for all who wait.
func (h *Hot) readFooter(name string, f *flight[indexEntry], read func() (indexEntry, error)) (e indexEntry, err error) {
	ok := false
	defer func() { h.footers.land(name, f, e, ok) }() // also after a panic of the store's
	if e, err = read(); err != nil {
		return e, err
	}
	ok = true
	h.set(name, hotRecord{record: e.record, schema: e.schema.id}, int64(cap(e.record)))
	s := hotSchemaKey(e.schema.id)
	if _, known := h.get(s); !known {
		h.set(s, e.schema, int64(cap(e.schema.raw)+cap(e.schema.sizes)))
	}
	return e, nil
}

func (h *Hot) findFooter(key shardKey) (indexEntry, bool) {
	r, ok := h.get(hotKey(hotFooter, key, 0))
	if !ok {
		return indexEntry{}, false
	}
	record := r.(hotRecord)
	s, ok := h.get(hotSchemaKey(record.schema))
	if !ok {
		return indexEntry{}, false
	}
	return indexEntry{key: key, record: record.record, schema: s.(rawSchema)}, true
}

func hotSchemaKey(id schemaID) string { return string(append([]byte{hotSchema}, id[:]...)) }
