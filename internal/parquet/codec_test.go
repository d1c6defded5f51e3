package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

func gzipped(t testing.TB, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, p := range parts {
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(p)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// zstded is a frame for each part; a stream does not tell its size beforehand.
func zstded(t testing.TB, stream bool, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, p := range parts {
		w, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		if !stream {
			b.Write(w.EncodeAll([]byte(p), nil))
			continue
		}
		if _, err := w.Write([]byte(p)); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestDecompress(t *testing.T) {
	text := strings.Repeat("text that repeats ", 5000)
	var frame bytes.Buffer
	w := lz4.NewWriter(&frame)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var all Codecs
	defer all.Close()
	for _, c := range []struct {
		name  string
		codec format.CompressionCodec
		src   []byte
	}{
		{"uncompressed", format.Uncompressed, []byte(text)},
		{"snappy", format.Snappy, snappy.Encode(nil, []byte(text))},
		{"gzip", format.Gzip, gzipped(t, text)},
		{"gzip of two members", format.Gzip, gzipped(t, text[:100], text[100:])},
		{"zstd", format.Zstd, zstded(t, false, text)},
		{"zstd of unknown size", format.Zstd, zstded(t, true, text)},
		{"zstd of two frames", format.Zstd, zstded(t, false, text[:100], text[100:])},
		{"lz4", format.Lz4Raw, lz4Literals([]byte(text))},
		{"hadoop lz4", format.Lz4, hadoopBlocks([]byte(text))},
		{"hadoop lz4 that is a raw block", format.Lz4, lz4Literals([]byte(text))},
		{"hadoop lz4 that is a frame", format.Lz4, frame.Bytes()},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 2 { // the second time with a decompressor that was used
				dst := make([]byte, len(text), len(text)+CodecSlack)
				if err := all.Decompress(c.codec, dst, c.src); err != nil || string(dst) != text {
					t.Errorf("%v", err)
				}
				for _, n := range []int{len(text) - 1, len(text) + 1, 0} {
					dst := make([]byte, n, n+CodecSlack)
					if err := all.Decompress(c.codec, dst, c.src); !errors.Is(err, errCodec) {
						t.Errorf("%s to %d bytes: %v", c.name, n, err)
					}
				}
				if err := all.Decompress(c.codec, dst, c.src[:len(c.src)/2]); !errors.Is(err, errCodec) {
					t.Errorf("%s, half of it: %v", c.name, err)
				}
			}
		})
	}
	if err := all.Decompress(format.LZO, nil, []byte{1}); err == nil || !strings.Contains(err.Error(), "LZO") {
		t.Errorf("LZO: %v", err)
	}
}

// A page that decompresses to far more than its header says costs no memory.
func TestDecompressBomb(t *testing.T) {
	bomb := strings.Repeat("\x00", 64<<20)
	var all Codecs
	defer all.Close()
	for codec, src := range map[format.CompressionCodec][]byte{
		format.Zstd: zstded(t, true, bomb), format.Gzip: gzipped(t, bomb), format.Snappy: snappy.Encode(nil, []byte(bomb)),
	} {
		dst := make([]byte, 1000, 1000+CodecSlack)
		if err := all.Decompress(codec, dst, src[:len(src)*9/10]); err == nil {
			t.Errorf("%v: no error", codec)
		}
		got := testing.AllocsPerRun(1, func() { _ = all.Decompress(codec, dst, src) })
		if got > 100 {
			t.Errorf("%v: %.0f allocations", codec, got)
		}
	}
}

// Levels are decompressed as they lie in the whole page, and hardly more than they.
func TestDecompressLevels(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, sizes := range [][]int{{}, {0}, {10, 3}, {70000, 5000}, {5, 300000}} {
		var page []byte
		for _, n := range sizes {
			page = binary.LittleEndian.AppendUint32(page, uint32(n))
			for range n {
				page = append(page, byte(rng.IntN(3)))
			}
		}
		levels := len(page)
		for range 500_000 {
			page = append(page, byte(rng.Uint32()))
		}
		for codec, src := range map[format.CompressionCodec][]byte{
			format.Snappy: snappy.Encode(nil, page), format.Zstd: zstded(t, false, string(page)), format.Gzip: gzipped(t, string(page)),
		} {
			t.Run(fmt.Sprint(codec, sizes), func(t *testing.T) {
				var c Codecs
				defer c.Close()
				dst := make([]byte, len(page)+CodecSlack)[:len(page)]
				n, err := c.DecompressLevels(codec, dst, src, len(sizes))
				if err != nil || n < levels || !bytes.Equal(dst[:n], page[:n]) {
					t.Fatalf("%d bytes of %d: %v", n, levels, err)
				}
				if codec != format.Gzip && n > levels+300<<10 {
					t.Errorf("%d bytes for levels of %d", n, levels)
				}
				if _, err := c.DecompressLevels(codec, dst[:len(dst)-1], src, len(sizes)); err == nil && codec != format.Zstd {
					t.Error("no error for a page of another length")
				}
				if _, err := c.DecompressLevels(codec, dst, src[:min(len(src), levels/9)], len(sizes)); err == nil && levels > 0 {
					t.Error("no error for a page that is cut")
				}
				if _, err := c.DecompressLevels(codec, dst, src, 10); err == nil && codec == format.Snappy {
					t.Error("no error for runs that the page does not have")
				}
			})
		}
	}
}
