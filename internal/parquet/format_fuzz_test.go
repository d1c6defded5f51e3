package parquet

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/snappy"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

func FuzzPageHeader(f *testing.F) {
	for _, h := range []format.PageHeader{
		{Type: format.DataPage, UncompressedPageSize: 18, CompressedPageSize: 18, DataPageHeader: thrift.New(format.DataPageHeader{NumValues: 3, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})},
		{Type: format.DataPageV2, UncompressedPageSize: 10, CompressedPageSize: 10, CRC: 77, DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{NumValues: 3, NumNulls: 1, NumRows: 3, DefinitionLevelsByteLength: 2})},
		{Type: format.DictionaryPage, UncompressedPageSize: 4, CompressedPageSize: 4, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: 1})},
	} {
		b, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
		if err != nil {
			f.Fatal(err)
		}
		var got PageHeader
		if err := ParsePageHeader(b, &got); err != nil || got.Bytes != len(b) || got.Kind != h.Type || got.Stored != int(h.CompressedPageSize) {
			f.Fatalf("%+v, %v", got, err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var h PageHeader
		if err := ParsePageHeader(b, &h); err != nil {
			return
		}
		if h.Bytes > len(b) || h.Stored < 0 || h.Size < 0 || h.Values < 0 || h.RepBytes+h.DefBytes > min(h.Size, h.Stored) && h.Kind == format.DataPageV2 {
			t.Errorf("%+v", h)
		}
	})
}

// Levels that are expanded, looked at as bits and only asked whether all are the greatest must tell
// the same.
func FuzzLevels(f *testing.F) {
	f.Add([]byte{3, 0b101}, uint16(8), byte(1), false)
	f.Add([]byte{200, 1, 1, 5, 0xff, 0x0f}, uint16(110), byte(1), false)
	f.Add([]byte{3, 0xfe, 16, 1, 3, 0xfe, 16, 1}, uint16(32), byte(0), false)
	f.Add([]byte{3, 0b111001, 0}, uint16(3), byte(3), false)
	f.Add([]byte{0b10110011, 0b10000000}, uint16(9), byte(1), true)
	f.Fuzz(func(t *testing.T, src []byte, n uint16, greatest byte, packed bool) {
		l := LevelRun{Src: src, N: int(n), Max: int(greatest&7) + 1, Packed: packed}
		if packed && (l.N*int(l.width())+7)/8 > len(src) {
			return
		}
		all, allErr := l.AllMax()
		dst := make([]byte, l.N)
		if err := l.Expand(dst); err != nil {
			return
		}
		count := bytes.Count(dst, []byte{byte(l.Max)})
		if allErr == nil && all && count != l.N {
			t.Errorf("all are the greatest, but %d of %d", count, l.N)
		}
		m := make(Bitmap, BitmapWords(l.N+5))
		if ones := m.AppendEqual(5, dst, byte(l.Max)); ones != count || m.Ones(5, l.N) != count {
			t.Errorf("%d bits of %d", ones, count)
		}
		if l.Max != 1 {
			return
		}
		bits := make(Bitmap, BitmapWords(l.N+5))
		if ones, err := l.AppendBits(bits, 5); err != nil || ones != count {
			t.Errorf("%d bits, %v; want %d", ones, err, count)
		}
	})
}

func FuzzCodec(f *testing.F) {
	text := bytes.Repeat([]byte("some text that is text "), 20)
	f.Add(byte(format.Snappy), snappy.Encode(nil, text), uint16(len(text)))
	f.Add(byte(format.Gzip), gzipped(f, string(text)), uint16(len(text)))
	f.Add(byte(format.Zstd), zstded(f, false, string(text)), uint16(len(text)))
	var b bytes.Buffer
	w := brotli.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		f.Fatal(err)
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(byte(format.Brotli), b.Bytes(), uint16(len(text)))
	f.Add(byte(format.Lz4Raw), lz4Literals(text), uint16(len(text)))
	f.Add(byte(format.Lz4), hadoopBlocks(text), uint16(len(text)))
	var all Codecs
	f.Fuzz(func(t *testing.T, codec byte, src []byte, size uint16) {
		dst := make([]byte, int(size)+CodecSlack+64)
		for i := range dst {
			dst[i] = 0xaa
		}
		err := all.Decompress(format.CompressionCodec(codec%8), dst[:size:int(size)+CodecSlack], src)
		if err == nil && codec%8 == byte(format.Uncompressed) && !bytes.Equal(dst[:size], src) {
			t.Error("not a copy")
		}
		for _, c := range dst[int(size)+CodecSlack:] {
			if c != 0xaa {
				t.Fatal("written beyond the slack")
			}
		}
	})
}

func hadoopBlocks(text []byte) []byte {
	var b []byte
	for _, part := range [][]byte{text[:100], text[100:]} {
		block := lz4Literals(part)
		b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
		b = binary.BigEndian.AppendUint32(b, uint32(len(block)))
		b = append(b, block...)
	}
	return b
}

// lz4Literals is a raw LZ4 block that compresses nothing.
func lz4Literals(s []byte) []byte {
	b := []byte{0xf0}
	n := len(s) - 15
	for ; n >= 255; n -= 255 {
		b = append(b, 255)
	}
	return append(append(b, byte(n)), s...)
}

// A window of runs has the values that the runs have there.
func FuzzWindow(f *testing.F) {
	f.Add([]byte{0x90, 0x4e, 1, 3, 0xff, 0x01}, uint8(1), uint16(3), uint16(9))
	f.Add([]byte{0x05, 1, 2, 3, 4, 5, 6, 7, 8, 20, 7}, uint8(3), uint16(1), uint16(20))
	f.Fuzz(func(t *testing.T, src []byte, width uint8, skip, n uint16) {
		w := uint(width % 33)
		all, ok := expandRuns(src, w, int(skip)+int(n))
		got, err := (&Runs{Src: src, Width: w}).Window(nil, int(skip), int(n))
		if (err == nil) != ok {
			t.Fatalf("%v, but %v", err, ok)
		}
		if err != nil {
			return
		}
		if again, ok := expandRuns(got, w, int(n)); !ok || !slices.Equal(again, all[skip:]) {
			t.Fatalf("%v, want %v", again, all[skip:])
		}
		if w == 0 || w > 7 {
			return
		}
		checkRows(t, &LevelRun{Src: src, N: len(all), Max: 1<<w - 1}, all, int64(skip), int64(n))
		greatest := 1<<w - 1
		_, before, within, err := (&LevelRun{Src: src, N: len(all), Max: greatest}).Window(nil, int(skip), int(n))
		if b, i := count(all[:skip], greatest), count(all[skip:], greatest); err != nil || before != b || within != i {
			t.Fatalf("%d and %d of the greatest, %v; want %d and %d", before, within, err, b, i)
		}
	})
}

// checkRows compares Rows with the levels one by one: a row begins at each level of 0.
func checkRows(t *testing.T, l *LevelRun, levels []uint32, lo, n int64) {
	t.Helper()
	starts := make([]int, 0, len(levels)+2)
	for i, level := range levels {
		if level == 0 {
			starts = append(starts, i)
		}
	}
	at := func(row int64) int {
		if row < int64(len(starts)) {
			return starts[row]
		}
		return len(levels)
	}
	for _, hi := range []int64{lo, lo + n, int64(len(starts)) - 1, int64(len(starts))} {
		if hi < lo {
			continue
		}
		from, to, rows, err := l.Rows(lo, hi)
		if from != at(lo) || to != at(hi) || rows != int64(len(starts)) || err != nil {
			t.Fatalf("rows %d to %d are entries %d to %d of %d rows, %v; want %d to %d of %d", lo, hi, from, to, rows, err, at(lo), at(hi), len(starts))
		}
	}
}

func count(values []uint32, of int) (n int) {
	for _, v := range values {
		if v == uint32(of) {
			n++
		}
	}
	return n
}

// expandRuns is n values of runs; false when there are fewer.
func expandRuns(src []byte, width uint, n int) (all []uint32, ok bool) {
	r := Runs{Src: src, Width: width}
	for len(all) < n {
		if r.Next() != nil {
			return nil, false
		}
		k := min(r.N, n-len(all))
		if r.Packed == nil {
			all = append(all, slices.Repeat([]uint32{r.Value}, k)...)
			continue
		}
		at := len(all)
		all = append(all, make([]uint32, k)...)
		Unpack(all[at:], r.Packed, width)
	}
	return all, true
}
