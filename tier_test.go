package shardfeed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shard"
)

// A digested is what a test compares of a batch: its rows, its state, and a hash of all its bytes.
type digested struct {
	rows, valid int
	state       string
	hash        uint64
}

// digest hashes what an array holds, without the bytes behind its values.
func digest(h hash.Hash, a *column.Array) {
	fmt.Fprintln(h, a.Field.Name, a.Len, a.Nulls)
	if a.Valid != nil {
		for i := range a.Len {
			fmt.Fprint(h, a.IsNull(i))
		}
	}
	if a.Offsets != nil {
		_ = binary.Write(h, binary.LittleEndian, a.Offsets[:a.Len+1])
	}
	switch a.Field.Kind {
	case column.Fixed:
		h.Write(a.Data[:a.Len*a.Field.Width])
	case column.Binary:
		h.Write(a.Data[:a.Offsets[a.Len]])
	}
	for _, c := range a.Children {
		digest(h, c)
	}
}

func digestOf(b *loader.Batch) digested {
	h := fnv.New64a()
	for _, c := range b.Columns {
		digest(h, c)
	}
	return digested{rows: b.Rows, valid: b.Valid, state: fmt.Sprint(b.State.Epoch, b.State.Position), hash: h.Sum64()}
}

// epochsOf reads the epochs of a spec and digests their batches. The first batch begins at a state.
func epochsOf(t *testing.T, s Spec, change func(*loader.Options), between func(*Dataset)) (all []digested) {
	t.Helper()
	d, err := Open(t.Context(), s, Events{Note: func(text string) { t.Log(text) }})
	if err != nil {
		t.Fatal(err)
	}
	if between != nil {
		between(d)
	}
	o := s.LoaderOptions()
	if change != nil {
		change(&o)
	}
	all = batchesOf(t, d, o)
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return all
}

// batchesOf digests the batches of a loader of its own.
func batchesOf(t *testing.T, d *Dataset, o loader.Options) (all []digested) {
	t.Helper()
	l, err := loader.New(d.Dataset, o)
	if err != nil {
		t.Fatal(err)
	}
	all = digestsOf(t, d, l)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	return all
}

// digestsOf digests the batches of a loader, whose memory stays within the limit.
func digestsOf(t *testing.T, d *Dataset, l *loader.Loader) (all []digested) {
	t.Helper()
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, digestOf(b))
		if n := d.Budget().Admitted(); n > d.Memory() {
			t.Fatalf("%d bytes are admitted of %d", n, d.Memory())
		}
		b.Release()
	}
	return all
}

// keepAllDecoded keeps all row groups decoded, and returns how much that is.
func keepAllDecoded(t *testing.T, d *Dataset) iterable.KeptDecoded {
	t.Helper()
	k, err := d.KeepDecoded(t.Context(), func(shard.Shard, int32) bool { return true }, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	if k.Wrote == 0 || k.Lacking > 0 {
		t.Fatalf("%+v", k)
	}
	return k
}

// TestTierSameBatches: whatever is asked for, batches from what is kept decoded are those without:
// rows, order, states and bytes, in memory that lets blocks lie in images and in memory that does
// not.
func TestTierSameBatches(t *testing.T) {
	shuffled := Spec{Order: Order{Shuffle: true, Seed: 3}, BatchSize: 64}
	spec := func(change func(*Spec)) Spec {
		s := shuffled
		change(&s)
		return s
	}
	for name, s := range map[string]Spec{
		"shuffled":      shuffled,
		"file order":    {BatchSize: 100},
		"small buffer":  spec(func(s *Spec) { s.ShuffleBuffer = "300" }),
		"slices":        spec(func(s *Spec) { s.UnitRows, s.ShuffleBuffer = 70, "600" }),
		"some columns":  spec(func(s *Spec) { s.Columns = []string{"price", "title"} }),
		"row ids":       spec(func(s *Spec) { s.RowIDs = true }),
		"filter":        spec(func(s *Spec) { s.Filters = "price > 20" }),
		"subsample":     spec(func(s *Spec) { s.Subsample = 0.2 }),
		"little memory": spec(func(s *Spec) { s.Memory, s.ShuffleBuffer = "24MiB", "500" }),
		"stack":         spec(func(s *Spec) { s.Stack = map[string]Stack{"x": {Columns: []string{"price"}}} }),
		"carry":         spec(func(s *Spec) { s.Tail = "carry" }),
		"cast":          spec(func(s *Spec) { s.Cast = map[string]string{"price": "float32"} }),
		"scale":         spec(func(s *Spec) { s.Scale = map[string][]float64{"price": {3, 2}} }),
		"hash":          spec(func(s *Spec) { s.Hash = map[string]int64{"title": 1000, "label": 7} }),
		"unknown words": spec(func(s *Spec) {
			s.Vocabulary, s.Unknown = map[string][]string{"label": {"a", "b"}}, map[string]int64{"label": -1}
		}),
		"pad":    spec(func(s *Spec) { s.Pad = []Pad{{Column: "token_ids", MaxLength: 64, ToMax: true}} }),
		"pack":   spec(func(s *Spec) { s.Pack, s.BatchSize = &Pack{Columns: map[string]int{"token_ids": 512}}, 4 }),
		"bucket": spec(func(s *Spec) { s.Bucket, s.BatchSize = &Bucket{Columns: map[string]int{"token_ids": 4096}}, 1 }),
		"sources": spec(func(s *Spec) {
			s.Sources = []Source{{Name: "a", Addresses: []string{shop}, Weight: 2}, {Name: "b", Addresses: []string{shop}, Weight: 1, Choice: Choice{Filters: "price > 20"}}}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(dirVariable, t.TempDir())
			if s.Sources == nil {
				s.Addresses = []string{shop}
			}
			two := func(o *loader.Options) { o.Epochs = 2 }
			want := epochsOf(t, s, two, nil)
			s.DecodedLimit = "256MiB"
			if got := epochsOf(t, s, two, func(d *Dataset) { keepAllDecoded(t, d) }); !slices.Equal(got, want) {
				t.Fatalf("%d batches, want %d; the first that differs is %d", len(got), len(want), firstDifference(got, want))
			}
			if got := epochsOf(t, s, two, nil); !slices.Equal(got, want) {
				t.Fatalf("a later run: %d batches, want %d; the first that differs is %d", len(got), len(want), firstDifference(got, want))
			}
			if name != "shuffled" {
				return
			}
			for rank := range 3 { // of three
				of := func(o *loader.Options) { o.Rank, o.WorldSize = rank, 3 }
				got, plain := epochsOf(t, s, of, nil), s
				plain.DecodedLimit = ""
				if want := epochsOf(t, plain, of, nil); !slices.Equal(got, want) {
					t.Errorf("rank %d differs at batch %d", rank, firstDifference(got, want))
				}
			}
		})
	}
}

func firstDifference(a, b []digested) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// decodedFiles are the files of decoded row groups below a directory.
func decodedFiles(t *testing.T, dir string) (all []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "v1", "d*", "*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("%d files are kept decoded, %v", len(found), err)
	}
	return found
}

// TestTierDamaged: what is damaged in the tier is thrown away, the source is read in its place, and
// the row groups are kept again.
func TestTierDamaged(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, path string){
		"flipped": func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for i := 1 << 16; i < len(b); i += 50_000 {
				if b[i] != 0 {
					if _, err := f.WriteAt([]byte{b[i] ^ 4}, int64(i)); err != nil {
						t.Fatal(err)
					}
				}
			}
		},
		"cut": func(t *testing.T, path string) {
			if err := os.Truncate(path, 100_000); err != nil {
				t.Fatal(err)
			}
		},
		"empty": func(t *testing.T, path string) {
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
		},
		"gone": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv(dirVariable, dir)
			s := Spec{Addresses: []string{shop}, Order: Order{Shuffle: true, Seed: 3}, BatchSize: 64, Caching: Caching{DecodedLimit: "256MiB"}}
			want := epochsOf(t, s, nil, func(d *Dataset) { keepAllDecoded(t, d) })
			for _, path := range decodedFiles(t, dir) {
				damage(t, path)
			}
			if got := epochsOf(t, s, nil, nil); !slices.Equal(got, want) {
				t.Fatalf("%d batches, want %d; the first that differs is %d", len(got), len(want), firstDifference(got, want))
			}
			if got := epochsOf(t, s, nil, func(d *Dataset) {
				if k := keepAllDecoded(t, d); k.Wrote == 0 {
					t.Errorf("nothing was kept again: %+v", k)
				}
			}); !slices.Equal(got, want) {
				t.Fatalf("kept again: %d batches, want %d; the first that differs is %d", len(got), len(want), firstDifference(got, want))
			}
		})
	}
}

// TestTierBesideStream: a stream keeps row groups beside its work, within the limit, and those of a
// later run come from there.
func TestTierBesideStream(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(dirVariable, dir)
	s := Spec{Addresses: []string{shop}, Order: Order{Shuffle: true, Seed: 3}, BatchSize: 64, Caching: Caching{DecodedLimit: "256MiB"}}
	many := func(o *loader.Options) { o.Epochs = 200 }
	epochsOf(t, s, many, nil)
	d, err := Open(t.Context(), s, Events{})
	if err != nil {
		t.Fatal(err)
	}
	k, err := d.KeepDecoded(t.Context(), func(shard.Shard, int32) bool { return true }, func(int, int) {})
	if err = errors.Join(err, d.Close(t.Context())); err != nil || k.There == 0 {
		t.Errorf("%+v, %v", k, err)
	}
}

// TestTierChoosesColumns: where the limit has no room for all columns, the ones that save the most
// time are kept of nearly all row groups, not all columns of some.
func TestTierChoosesColumns(t *testing.T) {
	keep := func(limit string) (k iterable.KeptDecoded, groups int) {
		t.Setenv(dirVariable, t.TempDir())
		d, err := Open(t.Context(), Spec{Addresses: []string{shop}, BatchSize: 64, Caching: Caching{DecodedLimit: limit}}, Events{})
		if err != nil {
			t.Fatal(err)
		}
		k, err = d.KeepDecoded(t.Context(), func(shard.Shard, int32) bool { return true }, func(_, of int) { groups = of })
		if err = errors.Join(err, d.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		return k, groups
	}
	all, groups := keep("256MiB")
	some, _ := keep(strconv.FormatInt(all.Wrote*6/10, 10))
	if some.Columns == 0 || some.Columns >= all.Columns || some.Lacking*5 > groups {
		t.Errorf("of %d row groups: without a tight limit %+v, with one %+v", groups, all, some)
	}
}

// TestDecodedLimit: what a limit says is taken, or refused with the field's name.
func TestDecodedLimit(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(limitVariable, "")
	for _, c := range []struct {
		cache, decoded string
		limit, want    int64
	}{
		{"1GiB", "", 1 << 30, 1 << 30},
		{"1GiB", "0", 1 << 30, 0},
		{"1GiB", "2MiB", 1 << 30, 2 << 20},
		{"1GiB", " 3GiB ", 1 << 30, 1 << 30},
		{"", "200TiB", 200 << 40, 200 << 40},
	} {
		s := Spec{Caching: Caching{CacheLimit: c.cache, DecodedLimit: c.decoded}}
		if limit, decoded, err := s.limitsIn(dir); err != nil || limit != c.limit || decoded != c.want {
			t.Errorf("%q and %q are %d and %d, %v", c.cache, c.decoded, limit, decoded, err)
		}
	}
	for _, s := range []Spec{{Caching: Caching{DecodedLimit: "much"}}, {Caching: Caching{DecodedLimit: "200%"}}, {Caching: Caching{DecodedLimit: "1GiB", NoCache: true}}} {
		s.Addresses = []string{shop}
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "DecodedLimit") {
			t.Errorf("%+v: %v", s.DecodedLimit, err)
		}
	}
	if err := (Spec{Addresses: []string{shop}, Caching: Caching{DecodedLimit: "0", NoCache: true}}).Validate(); err != nil {
		t.Error(err)
	}
}
