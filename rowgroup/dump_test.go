package rowgroup

import (
	"context"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/shardfeed/shardfeed/internal/mem"
)

func TestDecodeShop(t *testing.T) {
	store, shards := shopShards(t)
	m, err := Open(context.Background(), store, shards, Options{})
	if err != nil {
		t.Fatal(err)
	}
	pool := &mem.Pool{}
	d := newDecoder(pool, RefuseUTF8)
	for _, g := range m.Groups() {
		r, err := m.Fetch(context.Background(), Rows{Shard: int(g.Shard), RowGroup: int(g.RowGroup), Hi: g.Rows})
		if err != nil {
			t.Fatal(err)
		}
		b, err := d.Decode(r, Layout{})
		r.Release()
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
	d.Close()
	m.Close()
}

// dump writes value i of a vector in a form that can be compared.
func dump(v *vector, i int) string {
	if v.nulls > 0 && v.isNull(i) || v.field.Kind == Null {
		return "null"
	}
	switch v.field.Kind {
	case Fixed:
		s, _ := v.source()
		k := int(s.at(uintptr(i)))
		w := v.field.Width
		data := v.data
		if v.codes != nil {
			data = v.dict.data
		}
		return hex.EncodeToString(data[k*w : k*w+w])
	case Binary:
		return fmt.Sprintf("%q", v.bytes(i))
	case Struct:
		s := "{"
		for _, c := range v.children {
			s += dump(c, i) + " "
		}
		return s + "}"
	}
	s := "["
	c := v.children[0]
	if v.views != nil || v.data != nil {
		b := v.flatItems(i)
		for w := c.field.Width; len(b) > 0; b = b[w:] {
			s += hex.EncodeToString(b[:w]) + " "
		}
		return s + "]"
	}
	for k := v.offsets[i]; k < v.offsets[i+1]; k++ {
		s += dump(c, int(k)) + " "
	}
	return s + "]"
}

// bytes returns value i of a Binary vector.
func (v *vector) bytes(i int) []byte {
	if v.codes != nil {
		return v.dict.bytes(v.code(i))
	}
	return v.viewed(i)
}

func (v *vector) viewed(i int) []byte {
	begin, n := v.views[i]>>32, int(uint32(v.views[i]))
	if v.chunkShift == 0 {
		return v.base[0][begin:][:n]
	}
	return v.base[begin>>v.chunkShift][begin&(1<<v.chunkShift-1):][:n]
}

func (v *vector) flatItems(i int) []byte {
	if v.views != nil {
		return v.viewed(i)
	}
	w := v.stride * v.children[0].field.Width
	return v.data[i*w : (i+1)*w]
}
