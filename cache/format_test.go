package cache

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/crc"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
)

func TestEntry(t *testing.T) {
	for _, c := range []struct{ lo, hi int }{{0, 1}, {0, blockSize}, {blockSize - 1, blockSize}, {17, 4711}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			e := newEntry(0xdeadbeef, c.lo, c.hi)
			if lo, hi := e.run(blockSize); lo != c.lo || hi != c.hi || e.sum() != 0xdeadbeef {
				t.Errorf("[%d, %d) became [%d, %d) with sum %#x", c.lo, c.hi, lo, hi, e.sum())
			}
		})
	}
	for name, e := range map[string]entry{
		"zero": 0, "past the block's end": newEntry(1, 0, 101), "empty": entry(1) | 5<<32 | 4<<48, "backwards": entry(1) | 9<<32 | 4<<48,
	} {
		t.Run(name, func(t *testing.T) {
			if lo, hi := e.run(100); lo != 0 || hi != 0 {
				t.Errorf("%s: holds [%d, %d)", name, lo, hi)
			}
		})
	}
}

// TestEntryOfOneByte: the one entry that means nothing is that of no run.
func TestEntryOfOneByte(t *testing.T) {
	for b := range 256 {
		if newEntry(crc.Of([]byte{byte(b)}), 0, 1) == 0 {
			t.Errorf("a first byte %d alone cannot be held", b)
		}
	}
}

func FuzzEntry(f *testing.F) {
	f.Add(uint64(0), 100)
	f.Add(^uint64(0), blockSize)
	f.Fuzz(func(t *testing.T, word uint64, n int) {
		n = 1 + (n&0x7fffffff)%blockSize
		lo, hi := entry(word).run(n)
		if lo < 0 || hi > n || lo > hi || lo == hi && lo != 0 {
			t.Fatalf("[%d, %d) of %d", lo, hi, n)
		}
		if lo < hi && newEntry(entry(word).sum(), lo, hi) != entry(word) {
			t.Fatalf("%#x is not the entry of [%d, %d)", word, lo, hi)
		}
	})
}

func TestPageBytes(t *testing.T) {
	for _, c := range []struct {
		lo, hi int
		want   int64
	}{{0, 0, 0}, {5, 5, 0}, {0, 1, 4096}, {4095, 4097, 8192}, {4096, 8192, 4096}, {0, blockSize, blockSize}, {100, 200, 4096}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			if got := pageBytes(c.lo, c.hi, 4096); got != c.want {
				t.Errorf("[%d, %d) takes %d, want %d", c.lo, c.hi, got, c.want)
			}
		})
	}
}

func TestHeader(t *testing.T) {
	for _, k := range []key{
		{uri: "s3://bucket/a", version: "etag", size: 1},
		{uri: "s3://" + strings.Repeat("long", 1000), version: strings.Repeat("v", 300), size: maxSize},
		{uri: strings.Repeat("u", maxName), version: strings.Repeat("v", maxName), size: 70_000},
		{uri: "", version: "v", size: 1},
		{uri: "s3://bucket/a", version: "etag", size: 1 << 30, shardSize: 12345, form: "f-1"},
	} {
		t.Run(fmt.Sprint(len(k.uri), " and ", len(k.version), " bytes"), func(t *testing.T) {
			b := encodeHeader(k)
			if int64(len(b)) != fileLayoutOf(k).header || len(b)%headerPage != 0 {
				t.Fatalf("a header of %d bytes", len(b))
			}
			mark := stamp{used: time.Unix(5, 6), until: time.Unix(7, 8), by: 9}
			mark.put(b) // does not break the sum
			got, err := parseHeader(b)
			if err != nil || got != k {
				t.Fatalf("%.20q became %.20q, %v", k.uri, got.uri, err)
			}
			if got := stampOf(b); !got.used.Equal(mark.used) || !got.until.Equal(mark.until) || got.by != mark.by {
				t.Errorf("stamp %v", got)
			}
			if !sameHeader(b, encodeHeader(k)) {
				t.Error("a stamp makes another header")
			}
			for at := range b {
				if at >= 36 && at < namesAt {
					continue
				}
				b[at] ^= 1
				if _, err := parseHeader(b); err == nil {
					t.Fatalf("byte %d can change", at)
				}
				b[at] ^= 1
				if at > 5000 {
					break
				}
			}
		})
	}
}

// TestDecodedKey: decoded bytes have a name and a header of their own, which follow from each
// other. Older releases take them for shard files of another shard: they count them, evict them
// when they were not used for long, and do not take them for leftovers or for newer versions of the
// shard.
func TestDecodedKey(t *testing.T) {
	store := &mem.Store{}
	s := shard.Shard{URI: "mem://a/b", Size: 10, Version: "1"}
	plain, _ := keyOf(store, s)
	k, ok := decodedKeyOf(store, s, "cols-1", 1000)
	if !ok || !isDecoded(k.name) || isDecoded(plain.name) || plain.decoded() || !k.decoded() {
		t.Fatalf("%+v, %+v", plain, k)
	}
	if familyOf(k.name) != familyOf(plain.name) || versionOf(k.name) != versionOf(plain.name) {
		t.Errorf("%s is not of the version of %s", k.name, plain.name)
	}
	if base := path.Base(k.name); !shardName.MatchString(base) || base[:hashDigits] == familyOf(plain.name) {
		t.Errorf("an older release takes %s for a leftover, or for another version of %s", k.name, plain.name)
	}
	if other, _ := decodedKeyOf(store, s, "cols-1", 2000); other.name != k.name {
		t.Error("a space of another size has another name")
	}
	if other, _ := decodedKeyOf(store, s, "cols-2", 1000); other.name == k.name || familyOf(other.name) != familyOf(k.name) || versionOf(other.name) != versionOf(k.name) {
		t.Errorf("another form has the name %s", other.name)
	}
	for _, form := range []string{"", "a/b", "..", "a b", strings.Repeat("x", maxForm+1)} {
		if _, ok := decodedKeyOf(store, s, form, 1000); ok {
			t.Errorf("%q is taken for a form", form)
		}
	}
	got, err := parseHeader(encodeHeader(k))
	if got.name = nameOf(got); err != nil || got != k {
		t.Errorf("%+v became %+v, %v", k, got, err)
	}
	if sameHeader(encodeHeader(k), encodeHeader(plain)) {
		t.Error("the headers are the same")
	}
	for _, version := range []string{"", "1", "f\x00x\x001", "f\x00-1\x001", "f\x000\x001", "f\x0099999999999999\x001", "\x001\x001", "/\x001\x001", "1\x001"} {
		t.Run(fmt.Sprintf("%q", version), func(t *testing.T) {
			b := encodeHeader(key{uri: "mem://a", version: version, size: 10})
			copy(b, magicOf)
			binary.LittleEndian.PutUint32(b[sumAt:], headerSum(b))
			if k, err := parseHeader(b); err == nil {
				t.Errorf("%+v", k)
			}
		})
	}
}

func FuzzHeader(f *testing.F) {
	f.Add(encodeHeader(key{uri: "s3://bucket/a", version: "v", size: 100, shardSize: 7, form: "x"}))
	f.Add(encodeHeader(key{uri: "s3://bucket/a", version: "v", size: 100}))
	f.Add([]byte(magic))
	f.Add(bytes.Repeat([]byte{0xff}, headerPage))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= namesAt { // let the fuzzer past the sum
			binary.LittleEndian.PutUint32(b[sumAt:], headerSum(b))
		}
		k, err := parseHeader(b)
		if err != nil {
			return
		}
		l := fileLayoutOf(k)
		if l.data%blockSize != 0 || l.data < l.header+l.table || l.header%headerPage != 0 || l.table/8*blockSize < k.size {
			t.Fatalf("layout %+v of %d bytes", l, k.size)
		}
		if again, err := parseHeader(encodeHeader(k)); err != nil || again != k {
			t.Fatalf("%v became %v, %v", k, again, err)
		}
	})
}

func TestKey(t *testing.T) {
	store := &mem.Store{}
	s := shard.Shard{URI: "mem://a/b", Size: 10, Version: "1"}
	k, ok := keyOf(store, s)
	if !ok || !shardName.MatchString(k.name[2:]) || familyOf(k.name)[:1] != k.name[:1] {
		t.Fatalf("%+v", k)
	}
	if nameOf(k) != k.name {
		t.Error("the name does not follow from the key")
	}
	other := map[string]shard.Shard{
		"size": {URI: s.URI, Size: 11, Version: "1"}, "version": {URI: s.URI, Size: 10, Version: "2"}, "address": {URI: "mem://a/c", Size: 10, Version: "1"},
		"digits": {URI: s.URI, Size: 1, Version: "01"},
	}
	for what, o := range other {
		t.Run("another "+what, func(t *testing.T) {
			k2, ok := keyOf(store, o)
			if !ok || k2.name == k.name {
				t.Errorf("another %s is the same file", what)
			}
			if sameFamily := k2.name[:2+hashDigits] == k.name[:2+hashDigits]; sameFamily != (what != "address") {
				t.Errorf("another %s: same family %v", what, sameFamily)
			}
		})
	}
	secret := shard.Shard{URI: "s3://AKIA:hush@bucket/a?sig=hush", Size: 10, Version: "1"}
	if k, _ := keyOf(store, secret); strings.Contains(k.uri, "hush") {
		t.Errorf("a secret reaches the disk: %s", k.uri)
	}
	for what, s := range map[string]shard.Shard{
		"no version": {URI: "mem://a", Size: 10}, "no bytes": {URI: "mem://a", Version: "1"}, "too large": {URI: "mem://a", Size: maxSize + 1, Version: "1"},
		"long": {URI: "mem://" + strings.Repeat("a", maxName), Size: 1, Version: "1"},
	} {
		t.Run(what, func(t *testing.T) {
			if _, ok := keyOf(store, s); ok {
				t.Errorf("%s: is cached", what)
			}
		})
	}
	for _, name := range []string{"", "usage", k.name, k.name[2:] + "x", k.name[2:] + leftoverMark + "1", strings.ToUpper(k.name[2:]), strings.Repeat("a", 49)} {
		t.Run(fmt.Sprintf("%.30q", name), func(t *testing.T) {
			if shardName.MatchString(name) {
				t.Errorf("%q passes for a shard", name)
			}
		})
	}
}

// ranges made of letters: one letter is one byte, a dash is one that is not asked for.
func lettered(s string) (ranges []shard.Range) {
	for i := 0; i < len(s); {
		if s[i] == '-' || s[i] == '|' {
			i++
			continue
		}
		n := i
		for n < len(s) && s[n] != '-' && s[n] != '|' {
			n++
		}
		ranges = append(ranges, shard.Range{Off: int64(i), P: []byte(s[i:n])})
		i = n
	}
	return ranges
}

func spelled(ranges []shard.Range, n int) string {
	b := bytes.Repeat([]byte("-"), n)
	for _, r := range ranges {
		copy(b[r.Off:], r.P)
	}
	return string(b)
}

func TestRanges(t *testing.T) {
	for _, c := range []struct{ ranges, spans, without, cover string }{
		{"abcdef", "------", "abcdef", "------"},
		{"abcdef", "xx----", "--cdef", "ab----"},
		{"abcdef", "--xx--", "ab--ef", "--cd--"},
		{"abcdef", "x-x-x-", "-b-d-f", "a-c-e-"},
		{"ab-cd-ef", "-xxxxxx-", "a------f", "-b.cd.e-"},
		{"--cd----", "xxxxxxxx", "--------", "..cd...."},
		{"ab|cd|ef", "---xxx--", "ab----ef", "---cd.--"},
		{"--------", "-xx-----", "--------", "-..-----"},
	} {
		t.Run(c.ranges+" "+c.spans, func(t *testing.T) {
			var spans []shard.Span
			for _, r := range lettered(c.spans) {
				spans = append(spans, r.Span())
			}
			ranges := lettered(c.ranges)
			if got := strings.ReplaceAll(spelled(without(ranges, spans), len(c.ranges)), "|", "-"); got != c.without {
				t.Errorf("%s without %s is %s, want %s", c.ranges, c.spans, got, c.without)
			}
			covered := cover(spans, ranges)
			if got := strings.ReplaceAll(spelled(covered, len(c.ranges)), "\x00", "."); got != c.cover {
				t.Errorf("%s covered by %s is %q, want %s", c.spans, c.ranges, got, c.cover)
			}
			if bytesOf(covered) != spanBytes(spans) {
				t.Errorf("%s covered by %s has %d bytes", c.spans, c.ranges, bytesOf(covered))
			}
			flat := make([]byte, spanBytes(spans))
			gather(flat, spans, covered)
			if got, want := strings.ReplaceAll(string(flat), "\x00", "."), strings.ReplaceAll(c.cover, "-", ""); got != want {
				t.Errorf("%s out of %s is %q, want %q", c.spans, c.ranges, got, want)
			}
		})
	}
}

// TestCoverKeepsMemory: what is fetched goes to where the reader wants it, in one piece where it is
// one.
func TestCoverKeepsMemory(t *testing.T) {
	p := make([]byte, 100)
	covered := cover([]shard.Span{{Off: 10, N: 20}, {Off: 30, N: 50}}, []shard.Range{{Off: 5, P: p}})
	if len(covered) != 1 || &covered[0].P[0] != &p[5] || len(covered[0].P) != 70 || cap(covered[0].P) != 70 {
		t.Errorf("%d ranges", len(covered))
	}
}
