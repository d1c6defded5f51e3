package iceberg

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/internal/avro"
)

const identity, void = "identity", "void" // transforms

// A partition is the files of a spec that have the same values.
type partition struct {
	spec      *spec
	values    []partitionValue // of the spec's fields
	constants []table.Constant
}

type partitionValue struct {
	kind avro.Kind
	n    int64
	data string
}

// unpartitioned reports whether a spec puts all files into one partition.
func (s *spec) unpartitioned() bool {
	return !slices.ContainsFunc(s.Fields, func(f partitionField) bool { return f.Transform != void })
}

// key is a text that two partitions have in common if they are the same. Widths do not count: a
// float column may have become a double one between two manifests.
func (p *partition) key(m *metadata) string {
	values := make([]avro.Value, len(p.values))
	for i, v := range p.values {
		values[i] = avro.Value{Kind: v.kind, Int: v.n, Bytes: []byte(v.data)}
		f := m.fieldOf(p.spec.Fields[i].Source)
		if v.kind != avro.Bytes || f == nil {
			continue
		}
		if c, err := columnOf(f); err == nil && (c.Type == column.TypeDecimal || c.Type == column.TypeFloat32) {
			if c.Type == column.TypeFloat32 {
				c = &double
			}
			if wide, err := v.as(c); err == nil {
				values[i].Bytes = wide.Data
			}
		}
	}
	return string(appendKey(nil, p.spec.ID, values))
}

var double = leaves["double"]

// appendKey appends a partition as bytes.
func appendKey(b []byte, spec int32, values []avro.Value) []byte {
	b = binary.AppendVarint(b, int64(spec))
	for _, v := range values {
		b = append(b, byte(v.Kind))
		b = binary.AppendVarint(b, v.Int)
		b = binary.AppendUvarint(b, uint64(len(v.Bytes)))
		b = append(b, v.Bytes...)
	}
	return b
}

// constantsOf returns the columns that have one value in all files of a partition.
func (p *partition) constantsOf(fields []table.Field) error {
	for i, f := range p.spec.Fields {
		if f.Transform != identity {
			continue
		}
		at := slices.IndexFunc(fields, func(c table.Field) bool { return c.ID == f.Source })
		if at < 0 {
			continue // dropped, or part of a struct: files have it
		}
		v, err := p.values[i].as(fields[at].Column)
		if err != nil {
			return fmt.Errorf("partition field %s: %w", f.Name, err)
		}
		p.constants = append(p.constants, table.Constant{Field: at, Value: v})
	}
	return nil
}

// as converts a value of Avro to one of a column, which may be wider than it was once.
func (v partitionValue) as(c *column.Field) (table.Value, error) {
	data := []byte(v.data)
	switch {
	case v.kind == avro.Null:
		return table.Value{Null: true, Data: make([]byte, c.Width)}, nil
	case v.kind == avro.Int && c.Kind == column.Fixed && c.Type != column.TypeDecimal && c.Width <= 8:
		return table.Value{Data: littleEndian(v.n, c.Width)}, nil
	case v.kind == avro.Bytes && c.Type == column.TypeDecimal && len(data) > 0:
		return table.Value{Data: widened(data, c.Width)}, nil
	case v.kind == avro.Bytes && c.Type == column.TypeFloat64 && len(data) == 4:
		f := math.Float32frombits(binary.LittleEndian.Uint32(data))
		return table.Value{Data: littleEndian(int64(math.Float64bits(float64(f))), 8)}, nil
	case v.kind == avro.Bytes && (c.Kind == column.Binary || c.Kind == column.Fixed && len(data) == c.Width):
		return table.Value{Data: data}, nil
	}
	return table.Value{}, fmt.Errorf("%w: the value of a partition is not of type %v", shard.ErrCorrupt, c)
}

// widened is a big-endian two's complement as width bytes, little-endian.
func widened(b []byte, width int) []byte {
	out := make([]byte, width)
	fill := byte(int8(b[0]) >> 7)
	for i := range out {
		out[i] = fill
		if i < len(b) {
			out[i] = b[len(b)-1-i]
		}
	}
	return out
}
