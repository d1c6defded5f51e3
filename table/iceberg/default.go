package iceberg

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/table"
)

// defaultOf parses a default value in the specification's JSON form of single values.
func defaultOf(raw json.RawMessage, c *column.Field) (table.Value, error) {
	var data []byte
	var err error
	if raw[0] == '"' {
		var text string
		if err = json.Unmarshal(raw, &text); err == nil {
			data, err = ofText(text, c)
		}
	} else {
		data, err = ofNumber(string(raw), c)
	}
	return table.Value{Data: data}, err
}

var errDefault = errors.New("it is not a value of the column's type, or of one that can have a default")

func ofNumber(text string, c *column.Field) ([]byte, error) {
	switch c.Type {
	case column.TypeBool:
		v, err := strconv.ParseBool(text)
		if v {
			return []byte{1}, err
		}
		return []byte{0}, err
	case column.TypeInt32, column.TypeInt64:
		v, err := strconv.ParseInt(text, 10, 8*c.Width)
		return littleEndian(v, c.Width), err
	case column.TypeFloat32:
		v, err := strconv.ParseFloat(text, 32)
		return littleEndian(int64(math.Float32bits(float32(v))), 4), err
	case column.TypeFloat64:
		v, err := strconv.ParseFloat(text, 64)
		return littleEndian(int64(math.Float64bits(v)), 8), err
	}
	return nil, errDefault
}

// littleEndian is the first width bytes of a number.
func littleEndian(v int64, width int) []byte {
	return binary.LittleEndian.AppendUint64(nil, uint64(v))[:width]
}

func ofText(text string, c *column.Field) ([]byte, error) {
	switch c.Type {
	case column.TypeString:
		return []byte(text), nil
	case column.TypeBinary:
		return hex.DecodeString(text)
	case column.TypeFixedBinary, column.TypeUUID:
		b, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
		if err == nil && len(b) != c.Width {
			err = errDefault
		}
		return b, err
	case column.TypeDate:
		at, err := time.Parse(time.DateOnly, text)
		return littleEndian(at.Unix()/86400, 4), err
	case column.TypeTime:
		at, err := time.Parse("15:04:05", text)
		return littleEndian(int64(at.Sub(at.Truncate(24*time.Hour)))/1000, 8), err
	case column.TypeTimestamp:
		return timestampOf(text, c)
	case column.TypeDecimal:
		return unscaled(text, c)
	}
	return nil, errDefault
}

func timestampOf(text string, c *column.Field) ([]byte, error) {
	layout := "2006-01-02T15:04:05"
	if c.UTC {
		layout += "Z07:00"
	}
	at, err := time.Parse(layout, text)
	if c.Unit == column.Nano {
		return littleEndian(at.UnixNano(), 8), err
	}
	return littleEndian(at.UnixMicro(), 8), err
}

// unscaled parses a decimal with the column's scale, as "14.20" or "1E+2".
func unscaled(text string, c *column.Field) ([]byte, error) {
	v, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, errDefault
	}
	v.Mul(v, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(c.Scale)), nil)))
	if !v.IsInt() || v.Num().BitLen() > 8*c.Width-1 {
		return nil, fmt.Errorf("%s does not fit into decimal(%d, %d)", text, c.Precision, c.Scale)
	}
	return twosComplement(v.Num(), c.Width), nil
}

// twosComplement is a number in width bytes, little-endian.
func twosComplement(v *big.Int, width int) []byte {
	if v.Sign() < 0 {
		v = new(big.Int).Add(v, new(big.Int).Lsh(big.NewInt(1), uint(8*width)))
	}
	b := v.FillBytes(make([]byte, width))
	slices.Reverse(b)
	return b
}
