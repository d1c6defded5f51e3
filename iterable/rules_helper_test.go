package iterable

import (
	"encoding/binary"
	"math"

	"github.com/shardfeed/shardfeed/column"
)

func float32Array(v float32) *column.Array {
	return &column.Array{
		Field: &column.Field{Name: "weight", Kind: column.Fixed, Type: column.TypeFloat32, Width: 4}, Len: 1,
		Data: binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)),
	}
}
