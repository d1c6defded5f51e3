// Package avrotest writes Avro object container files for tests.
package avrotest

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"maps"
	"math"
	"slices"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// A Writer collects the bytes of values.
type Writer struct{ buf []byte }

// Long writes an int, a long, the branch of a union or the number of items in a block.
func (w *Writer) Long(v int64) *Writer {
	w.buf = binary.AppendVarint(w.buf, v)
	return w
}

// Bytes writes bytes or a string.
func (w *Writer) Bytes(s string) *Writer {
	w.Long(int64(len(s)))
	return w.Raw(s)
}

// Raw writes a fixed or a boolean.
func (w *Writer) Raw(s string) *Writer {
	w.buf = append(w.buf, s...)
	return w
}

// Double writes a double.
func (w *Writer) Double(v float64) *Writer {
	w.buf = binary.LittleEndian.AppendUint64(w.buf, math.Float64bits(v))
	return w
}

// Len is the number of bytes.
func (w *Writer) Len() int { return len(w.buf) }

// A Block is a number of records and their values.
type Block struct {
	Records int64
	Body    []byte
}

// Block returns the written bytes as a block of records, and empties the writer.
func (w *Writer) Block(records int64) Block {
	b := Block{records, w.buf}
	w.buf = nil
	return b
}

// File returns a container file.
func File(codec, schema string, meta map[string]string, blocks ...Block) []byte {
	all := map[string]string{"avro.schema": schema, "avro.codec": codec}
	maps.Copy(all, meta)
	w := &Writer{}
	w.Raw("Obj\x01").Long(int64(len(all)))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		w.Bytes(key).Bytes(all[key])
	}
	const sync = "0123456789abcdef"
	w.Long(0).Raw(sync)
	for _, b := range blocks {
		w.Long(b.Records).Bytes(string(compress(codec, b.Body))).Raw(sync)
	}
	return w.buf
}

func compress(codec string, body []byte) []byte {
	switch codec {
	case "deflate":
		var out bytes.Buffer
		w, err := flate.NewWriter(&out, 6)
		if err != nil {
			panic(err)
		}
		if _, err := w.Write(body); err != nil {
			panic(err)
		}
		if err := w.Close(); err != nil {
			panic(err)
		}
		return out.Bytes()
	case "snappy":
		return binary.BigEndian.AppendUint32(snappy.Encode(nil, body), crc32.ChecksumIEEE(body))
	case "zstandard":
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err)
		}
		return w.EncodeAll(body, nil)
	}
	return body
}
