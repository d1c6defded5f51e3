package iceberg

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/table"
)

// A key is the values of the key columns of a row: up to 15 bytes themselves, or the first 15 bytes
// of their SHA-256.
type key [16]byte

func keyOf(b []byte) (k key) {
	if len(b) < len(k) {
		copy(k[:], b)
		k[len(k)-1] = byte(len(b))
		return k
	}
	sum := sha256.Sum256(b)
	copy(k[:], sum[:])
	k[len(k)-1] = 0xff
	return k
}

// A keyColumn is a column of equality deletes, perhaps a member of a struct.
type keyColumn struct {
	id     int32
	field  table.Field   // of the top level, with the one part that leads to the key
	column *column.Field // of the key
	preset *table.Value  // the default value
}

// keyColumn finds a field by its ID in any schema of the table, since it may have been dropped.
func (e *equal) keyColumn(id int32) (keyColumn, error) {
	path := e.meta.pathOf(id)
	if path == nil {
		return keyColumn{}, fmt.Errorf("an equality delete has the field ID %d, which no schema of the table has", id)
	}
	k := keyColumn{id: id}
	for i := len(path) - 1; i >= 0; i-- {
		if i < len(path)-1 && path[i].Type.name != "struct" {
			return k, fmt.Errorf("an equality delete has a key within the %s %s", path[i].Type.name, path[i].Name)
		}
		f := table.Field{ID: path[i].ID, Names: e.names[path[i].ID]}
		if i < len(path)-1 {
			f.Parts = []table.Field{k.field}
		}
		k.field = f
	}
	leaf := path[len(path)-1]
	c, err := columnOf(leaf)
	if err != nil {
		return k, err
	}
	if c.Children != nil {
		return k, fmt.Errorf("an equality delete has the key %s, which is a %s", leaf.Name, leaf.Type.name)
	}
	t, err := tableField(leaf, c, nil)
	k.column, k.preset = c, t.Default
	return k, err
}

// lacking is the key's bytes in files that lack the column.
func (k *keyColumn) lacking(p *partition) ([]byte, error) {
	for i, f := range p.spec.Fields {
		if f.Source == k.id && f.Transform == identity {
			v, err := p.values[i].as(k.column)
			if err != nil || v.Null {
				return appendNull(nil), err
			}
			return appendValue(nil, k.column, v.Data)
		}
	}
	if k.preset == nil {
		return appendNull(nil), nil
	}
	return appendValue(nil, k.column, k.preset.Data)
}

// appendRow appends the key's value in a row of its array.
func (k *keyColumn) appendRow(b []byte, a *column.Array, row int) ([]byte, error) {
	for part := k.field.Parts; part != nil; part = part[0].Parts {
		if a.IsNull(row) || len(a.Children) == 0 || a.Children[0] == nil {
			return appendNull(b), nil
		}
		a = a.Children[0]
	}
	if a.IsNull(row) {
		return appendNull(b), nil
	}
	if a.Field.Kind == column.Binary {
		return appendValue(b, a.Field, a.Data[a.Offsets[row]:a.Offsets[row+1]])
	}
	w := a.Field.Width
	return appendValue(b, a.Field, a.Data[row*w:(row+1)*w])
}

func appendNull(b []byte) []byte { return append(b, 0) }

// appendValue appends a value so that equal values of all widths have the same bytes.
func appendValue(b []byte, f *column.Field, data []byte) ([]byte, error) {
	b = append(b, 1)
	switch f.Type {
	case column.TypeBool, column.TypeInt8, column.TypeInt16, column.TypeInt32, column.TypeInt64, column.TypeDate:
		return binary.AppendVarint(b, signed(data)), nil
	case column.TypeTime, column.TypeTimestamp:
		v := signed(data)
		if f.Unit == column.Milli {
			v *= 1000
		}
		return binary.AppendVarint(b, v), nil
	case column.TypeInt96:
		const epoch = 2440588 // Julian day of 1970-01-01
		day := int64(binary.LittleEndian.Uint32(data[8:])) - epoch
		return binary.AppendVarint(b, day*86_400_000_000+int64(binary.LittleEndian.Uint64(data))/1000), nil
	case column.TypeFloat32:
		return appendDouble(b, float64(math.Float32frombits(binary.LittleEndian.Uint32(data)))), nil
	case column.TypeFloat64:
		return appendDouble(b, math.Float64frombits(binary.LittleEndian.Uint64(data))), nil
	case column.TypeDecimal:
		return appendBytes(b, shortened(data, f.Kind == column.Binary)), nil
	case column.TypeString, column.TypeBinary, column.TypeEnum, column.TypeJSON, column.TypeUUID, column.TypeFixedBinary:
		return appendBytes(b, data), nil
	}
	return nil, fmt.Errorf("an equality delete has a key of type %v, which cannot be read", f)
}

func appendBytes(b, data []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(data))), data...)
}

// appendDouble takes all NaNs as one, and 0 and -0 as two, as Iceberg's Java library does.
func appendDouble(b []byte, v float64) []byte {
	if v != v {
		v = math.NaN()
	}
	return binary.BigEndian.AppendUint64(b, math.Float64bits(v))
}

// signed is a little-endian number of up to 8 bytes.
func signed(data []byte) int64 {
	var v int64
	for i := len(data) - 1; i >= 0; i-- {
		if i == len(data)-1 {
			v = int64(int8(data[i]))
			continue
		}
		v = v<<8 | int64(data[i])
	}
	return v
}

// shortened is a two's complement, big-endian and without bytes that only repeat the sign.
func shortened(data []byte, bigEndian bool) []byte {
	out := make([]byte, len(data))
	for i, x := range data {
		if !bigEndian {
			i = len(data) - 1 - i
		}
		out[i] = x
	}
	for len(out) > 1 && (out[0] == 0 && out[1] < 0x80 || out[0] == 0xff && out[1] >= 0x80) {
		out = out[1:]
	}
	return out
}
