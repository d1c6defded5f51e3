package block

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
)

// heap is an Alloc for tests: dirty memory, so that an unwritten byte shows.
func heap(n int) ([]byte, error) {
	b := make([]byte, n)
	for i := range b {
		b[i] = 0xaa
	}
	return b, nil
}

func field(k column.Kind, width int, kids ...*column.Field) *column.Field {
	return &column.Field{Name: "c", Kind: k, Width: width, Nullable: true, Children: kids}
}

// words makes a plain Fixed vector of 4-byte values; a negative value is a null.
func words(vs ...int32) *Vector {
	v := &Vector{Len: len(vs), Data: make([]byte, 0, 4*len(vs)+64)}
	for i, x := range vs {
		if x < 0 {
			v.setNull(i)
			x = 0
		}
		v.Data = binary.LittleEndian.AppendUint32(v.Data, uint32(x))
	}
	return v
}

func (v *Vector) setNull(i int) {
	if v.Valid == nil {
		v.Valid = make([]uint64, (v.Len+63)/64)
		for k := range v.Len {
			v.Valid[k>>6] |= 1 << (k & 63)
		}
	}
	v.Valid[i>>6] &^= 1 << (i & 63)
	v.Nulls++
}

// text makes a Binary vector with views; "-" is a null.
func text(vs ...string) *Vector {
	v := &Vector{Len: len(vs)}
	data := []byte("....")
	for i, s := range vs {
		if s == "-" {
			v.setNull(i)
			v.Views = append(v.Views, 0)
			continue
		}
		v.Views = append(v.Views, uint64(len(data))<<32|uint64(len(s)))
		data = append(data, s...)
	}
	v.Base = [][]byte{data}
	return v
}

// coded wraps values into a dictionary with codes of width cw.
func coded(dict *Vector, cw int, codes ...uint32) *Vector {
	v := &Vector{Len: len(codes), Dict: dict, CodeWidth: cw}
	for _, c := range codes {
		var b [4]byte
		binary.LittleEndian.PutUint32(b[:], c)
		v.Codes = append(v.Codes, b[:cw]...)
	}
	return v
}

// show prints the values of an array in a short form.
func show(a *column.Array, i int) string {
	if a.IsNull(i) {
		return "-"
	}
	var parts []string
	switch a.Field.Kind {
	case column.Fixed:
		if w := a.Field.Width; w != 4 {
			return fmt.Sprintf("%x", a.Data[i*w:(i+1)*w])
		}
		return fmt.Sprint(binary.LittleEndian.Uint32(a.Data[4*i:]))
	case column.Binary:
		return string(a.Data[a.Offsets[i]:a.Offsets[i+1]])
	case column.Struct:
		for _, c := range a.Children {
			parts = append(parts, show(c, i))
		}
		return "{" + strings.Join(parts, " ") + "}"
	default:
		lo, hi := a.Items(i)
		for k := lo; k < hi; k++ {
			parts = append(parts, show(a.Children[0], k))
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
}

func showAll(a *column.Array) string {
	var parts []string
	for i := range a.Len {
		parts = append(parts, show(a, i))
	}
	return strings.Join(parts, " ")
}

func TestGather(t *testing.T) {
	i32, str := field(column.Fixed, 4), field(column.Binary, 0)
	list := field(column.List, 0, i32)
	pair := field(column.List, 0, i32)
	pair.ListSize = 2
	flatRagged := &Vector{Len: 3, Views: []uint64{0<<32 | 8, 8 << 32, 8<<32 | 4}, Base: [][]byte{words(1, 2, 3).Data}, Children: []*Vector{{}}}
	flatStride := &Vector{Len: 2, Data: words(4, 5, 6, 7).Data, Stride: 2, Children: []*Vector{{}}}
	general := &Vector{Len: 3, Offsets: []uint32{0, 2, 2, 3}, Children: []*Vector{words(8, -1, 9)}}
	general.setNull(1)
	nullPair := &Vector{Len: 2, Data: words(0, 0, 1, 2).Data, Stride: 2, Children: []*Vector{{}}}
	nullPair.setNull(0)
	texts := field(column.List, 0, str)
	textLists := &Vector{Len: 2, Offsets: []uint32{0, 3, 4}, Children: []*Vector{text("a", "-", "bb", "ccc")}}
	st := field(column.Struct, 0, i32, str)
	str1 := &Vector{Len: 2, Children: []*Vector{words(1, -1), text("x", "y")}}
	str1.setNull(1)
	nested := field(column.List, 0, pair)
	nested.ListSize = 1
	nestedVec := &Vector{Len: 2, Stride: 1, Children: []*Vector{{Len: 2, Data: words(1, 2, 3, 4).Data, Stride: 2, Children: []*Vector{{}}}}}
	nestedVec.setNull(0)
	chunky := &Vector{Len: 2, ChunkShift: 3, Views: []uint64{8<<32 | 3, 0<<32 | 2}, Base: [][]byte{[]byte("aaaaaaaa"), []byte("bcdeeeee")}}

	for _, c := range []struct {
		name  string
		f     *column.Field
		vecs  []*Vector
		picks []Pick
		want  string
	}{
		{"plain", i32, []*Vector{words(10, 11, 12), words(20, 21)}, []Pick{MakePick(1, 1), MakePick(0, 0), MakePick(0, 2)}, "21 10 12"},
		{"nulls", i32, []*Vector{words(10, -1), words(20)}, []Pick{MakePick(0, 1), MakePick(1, 0), MakePick(0, 0)}, "- 20 10"},
		{
			"codes of three widths", i32,
			[]*Vector{coded(words(5, 6), 1, 1, 0), coded(words(7, 8), 2, 1), coded(words(9), 4, 0), words(1)},
			[]Pick{MakePick(0, 0), MakePick(1, 0), MakePick(2, 0), MakePick(3, 0), MakePick(0, 1)},
			"6 8 9 1 5",
		},
		{"no storage", i32, []*Vector{{Len: 2, Nulls: 2}, words(3)}, []Pick{MakePick(0, 1), MakePick(1, 0)}, "- 3"},
		{"nothing picked", i32, []*Vector{words(1)}, nil, ""},
		{"skip", i32, []*Vector{{Len: 3, Data: words(1, 2, 3).Data, Skip: 1}}, []Pick{MakePick(0, 0), MakePick(0, 1)}, "2 3"},
		{"text", str, []*Vector{text("one", "-", ""), text("four")}, []Pick{MakePick(1, 0), MakePick(0, 1), MakePick(0, 2), MakePick(0, 0)}, "four -  one"},
		{"text codes", str, []*Vector{coded(text("u", "vv"), 1, 1, 0, 1)}, []Pick{MakePick(0, 0), MakePick(0, 1)}, "vv u"},
		{"text without storage", str, []*Vector{{Len: 1, Nulls: 1}}, []Pick{MakePick(0, 0)}, "-"},
		{"chunks", str, []*Vector{chunky}, []Pick{MakePick(0, 0), MakePick(0, 1)}, "bcd aa"},
		{
			"lists of all forms", list,
			[]*Vector{flatRagged, flatStride, general},
			[]Pick{MakePick(2, 0), MakePick(0, 0), MakePick(1, 1), MakePick(0, 1), MakePick(2, 1), MakePick(0, 2)},
			"[8 -] [1 2] [6 7] [] - [3]",
		},
		{"pairs", pair, []*Vector{flatStride, nullPair}, []Pick{MakePick(1, 0), MakePick(0, 1), MakePick(1, 1)}, "- [6 7] [1 2]"},
		{"lists of text", texts, []*Vector{textLists}, []Pick{MakePick(0, 1), MakePick(0, 0)}, "[ccc] [a - bb]"},
		{"struct", st, []*Vector{str1}, []Pick{MakePick(0, 0), MakePick(0, 1)}, "{1 x} -"},
		{"tensor with a null row", nested, []*Vector{nestedVec}, []Pick{MakePick(0, 1), MakePick(0, 0)}, "[[3 4]] -"},
		{"null kind", field(column.Null, 0), []*Vector{{Len: 2, Nulls: 2}}, []Pick{MakePick(0, 1)}, "-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			blocks := make([]*Block, len(c.vecs))
			for i, v := range c.vecs {
				blocks[i] = &Block{rows: v.Len - v.Skip, cols: []*Vector{v}}
			}
			var g Gatherer
			for range 2 { // the second time in used scratch
				a, err := g.Gather(0, c.f, blocks, c.picks, heap)
				if err != nil {
					t.Fatal(err)
				}
				if got := showAll(a); got != c.want {
					t.Fatalf("got %q, want %q", got, c.want)
				}
			}
		})
	}
}

// Bytes under a null are zero in every form of storage, since consumers read them as tensors.
func TestGatherZeroesNulls(t *testing.T) {
	v := coded(words(7, 8), 1, 0, 1, 0)
	v.setNull(0)
	w := words(5, -1)
	var g Gatherer
	a, err := g.Gather(0, field(column.Fixed, 4), []*Block{{cols: []*Vector{v}}, {cols: []*Vector{w}}}, []Pick{0, 1, MakePick(1, 1), MakePick(1, 0)}, heap)
	if err != nil {
		t.Fatal(err)
	}
	want := []uint32{0, 8, 0, 5}
	if got := unsafe.Slice((*uint32)(unsafe.Pointer(&a.Data[0])), 4); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if a.Nulls != 2 || a.Valid[0] != 0b1010 {
		t.Fatalf("nulls %d, valid %b", a.Nulls, a.Valid[0])
	}
}

// Nothing is under a null text either, also where codes stand for the texts.
func TestGatherEmptiesNulls(t *testing.T) {
	v := coded(text("ab", "c"), 1, 0, 1, 0)
	v.setNull(0)
	var g Gatherer
	a, err := g.Gather(0, field(column.Binary, 0), []*Block{{cols: []*Vector{v}}, {cols: []*Vector{text("d", "-")}}},
		[]Pick{0, 1, 2, MakePick(1, 1), MakePick(1, 0)}, heap)
	if err != nil {
		t.Fatal(err)
	}
	if want := []int32{0, 0, 1, 3, 3, 4}; !reflect.DeepEqual(a.Offsets, want) || string(a.Data) != "cabd" {
		t.Fatalf("got %q at %v, want %v", a.Data, a.Offsets, want)
	}
}

func TestGatherAllocFails(t *testing.T) {
	full := errors.New("no room")
	var g Gatherer
	for n := range 3 {
		left := n
		_, err := g.Gather(0, field(column.Binary, 0), []*Block{{cols: []*Vector{text("a", "-")}}}, []Pick{0, 1}, func(n int) ([]byte, error) {
			if left == 0 {
				return nil, full
			}
			left--
			return heap(n)
		})
		if !errors.Is(err, full) {
			t.Fatalf("allocation %d: %v", n, err)
		}
	}
}

// Every width, rows picked at random.
func TestGatherWidths(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, w := range []int{1, 2, 3, 4, 8, 12, 16, 20, 32} {
		var blocks []*Block
		var picks []Pick
		for b := range 3 {
			data := make([]byte, 100*w, 100*w+64)
			for i := range data {
				data[i] = byte(rng.Uint32())
			}
			blocks = append(blocks, &Block{rows: 100, cols: []*Vector{{Len: 100, Data: data}}})
			for range 50 {
				picks = append(picks, MakePick(b, rng.IntN(100)))
			}
		}
		rng.Shuffle(len(picks), func(i, j int) { picks[i], picks[j] = picks[j], picks[i] })
		var g Gatherer
		a, err := g.Gather(0, field(column.Fixed, w), blocks, picks, heap)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range picks {
			want := blocks[p.Block()].cols[0].Data[p.Row()*w : (p.Row()+1)*w]
			if got := a.Data[i*w : (i+1)*w]; !reflect.DeepEqual(got, want) {
				t.Fatalf("width %d, pick %d: got %x, want %x", w, i, got, want)
			}
		}
	}
}

func TestGatherAllocatesNothingPerRow(t *testing.T) {
	v := words(make([]int32, 1000)...)
	blocks := []*Block{{rows: 1000, cols: []*Vector{v}}}
	f := field(column.Fixed, 4)
	buf := make([]byte, 1<<20)
	for _, n := range []int{10, 1000} {
		picks := make([]Pick, n)
		for i := range picks {
			picks[i] = MakePick(0, i)
		}
		var g Gatherer
		got := testing.AllocsPerRun(10, func() {
			if _, err := g.Gather(0, f, blocks, picks, func(n int) ([]byte, error) { return buf[:n], nil }); err != nil {
				t.Fatal(err)
			}
		})
		if got > 4 {
			t.Fatalf("%d rows: %.0f allocations", n, got)
		}
	}
}
