package rowgroup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

// textRow has one text in three columns.
type textRow struct {
	Plain *string `parquet:"plain,optional,plain"`
	Coded *string `parquet:"coded,optional,dict"`
	Long  string  `parquet:"long,plain"`
}

var listField = &column.Field{Name: "lists", Kind: column.List, Nullable: true, Children: []*column.Field{{Name: "element", Kind: column.Fixed, Type: column.TypeInt32, Width: 4}}}

// letters lists the letters of all values, and in a second list, if there is one, their places.
func letters(dst [][]int32, values [][]byte) error {
	for i, value := range values {
		for _, c := range value {
			if dst[0] = append(dst[0], int32(c)); len(dst) > 1 {
				dst[1] = append(dst[1], int32('a'+i))
			}
		}
	}
	return nil
}

// Lists are made of plain and of coded texts, in one block and in parts, of long texts and short
// ones; nulls stay null, and an entry of a dictionary is listed once.
func TestListing(t *testing.T) {
	rows := make([]textRow, 300)
	want := make([][]string, 3)
	for i := range rows {
		text := strings.Repeat(string(rune('a'+i%7)), i%7)
		rows[i].Long = strings.Repeat(text, 1000*(1+i%13))
		if i%5 > 0 {
			rows[i].Plain, rows[i].Coded = &text, &text
			want[0], want[1] = append(want[0], text), append(want[1], text)
		} else {
			want[0], want[1] = append(want[0], "null"), append(want[1], "null")
		}
		want[2] = append(want[2], rows[i].Long)
	}
	m, d := openDecoder(t, writeRows(t, [][]textRow{rows}), Options{})
	for _, parts := range []int{1, 3} {
		t.Run(fmt.Sprint(parts), func(t *testing.T) {
			l := Layout{}
			if parts > 1 {
				l = Layout{Parts: parts, Part: make([]uint8, len(rows))}
				for i := range l.Part {
					l.Part[i] = uint8(1 + i/100)
				}
			}
			blocks, err := d.Decode(fetch(t, m, Rows{Hi: 300}), l)
			if err != nil {
				t.Fatal(err)
			}
			for col := range want {
				calls := 0
				listing := Listing{From: []int{col}, To: []ListedColumn{{At: col, Field: listField}}, List: func(dst [][]int32, values [][]byte) error {
					calls++
					return letters(dst, values)
				}}
				if err := d.List(listing, blocks); err != nil {
					t.Fatal(err)
				}
				if most := []int{240, 7, 300}[col]; calls > most {
					t.Errorf("column %d: %d texts were listed, want %d", col, calls, most)
				}
				var got []string
				for _, b := range blocks {
					got = append(got, listed(t, col, b)...)
				}
				if !slices.Equal(got, want[col]) {
					t.Errorf("column %d: lists differ", col)
				}
			}
			for _, b := range blocks {
				b.Release()
			}
		})
	}
}

// listed gathers the lists of a block as texts.
func listed(t *testing.T, col int, b *Block) (all []string) {
	t.Helper()
	var g Gatherer
	picks := make([]Pick, b.Rows())
	for i := range picks {
		picks[i] = MakePick(0, i)
	}
	a, err := g.Gather(col, listField, []*Block{b}, picks, heap)
	if err != nil {
		t.Fatal(err)
	}
	for i := range picks {
		if a.Nulls > 0 && a.Valid[i/8]>>(i%8)&1 == 0 {
			all = append(all, "null")
			continue
		}
		var text []byte
		for k := a.Offsets[i]; k < a.Offsets[i+1]; k++ {
			text = append(text, byte(binary.LittleEndian.Uint32(a.Children[0].Data[4*k:])))
		}
		if int(b.ListItems(col, i)) != len(text) {
			t.Errorf("row %d has %d items, want %d", i, b.ListItems(col, i), len(text))
		}
		all = append(all, string(text))
	}
	return all
}

// Only chosen rows get lists, a text that has none is named by its row, and lists take memory that
// the decoder is allowed.
func TestListingOfRows(t *testing.T) {
	rows := make([]textRow, 40)
	for i := range rows {
		rows[i].Long = strings.Repeat("ab", 30_000)
	}
	rows[25].Long = "?"
	m, d := openDecoder(t, writeRows(t, [][]textRow{rows}), Options{})
	odd := errors.New("odd")
	listing := Listing{From: []int{2}, To: []ListedColumn{{At: 2, Field: listField}}, Rows: []uint32{3, 3, 17}, List: func(dst [][]int32, values [][]byte) error {
		if values[0][0] == '?' {
			return odd
		}
		return letters(dst, values)
	}}
	blocks, err := d.Decode(fetch(t, m, Rows{Hi: 40}), Layout{})
	if err != nil {
		t.Fatal(err)
	}
	defer blocks[0].Release()
	if err := d.List(listing, blocks); err != nil {
		t.Fatal(err)
	}
	for row := range rows {
		if got, want := blocks[0].ListItems(2, row), map[int]uint32{3: 60_000, 17: 60_000}[row]; got != want {
			t.Errorf("row %d has %d items, want %d", row, got, want)
		}
	}
	blocks, err = d.Decode(fetch(t, m, Rows{Hi: 40}), Layout{})
	if err != nil {
		t.Fatal(err)
	}
	defer blocks[0].Release()
	listing.Rows = nil
	if err := d.List(listing, blocks); !errors.Is(err, odd) || !strings.Contains(err.Error(), "row 25 of the row group") {
		t.Errorf("got %v", err)
	}
	if blocks, err = d.Decode(fetch(t, m, Rows{Hi: 40}), Layout{}); err != nil {
		t.Fatal(err)
	}
	defer blocks[0].Release()
	asked := int64(0)
	d.Allow(0, func(n int64) error {
		asked += n
		return odd
	})
	listing.Rows = []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}
	if err := d.List(listing, blocks); !errors.Is(err, ErrTooLarge) || asked == 0 {
		t.Errorf("%d bytes were asked for, error %v", asked, err)
	}
}

// Lists are made of several columns at once: in place of one of them, and behind the last. A row
// with a null in one of them is null, and columns that are dropped have nothing but nulls.
func TestListingOfColumns(t *testing.T) {
	rows := make([]textRow, 200)
	var joined, places []string
	for i := range rows {
		plain, coded := strings.Repeat("x", i%5), strings.Repeat("y", i%3)
		rows[i].Long = strings.Repeat("z", i%4)
		if i%7 > 0 {
			rows[i].Plain = &plain
		}
		if i%11 > 0 {
			rows[i].Coded = &coded
		}
		if rows[i].Plain == nil || rows[i].Coded == nil {
			joined, places = append(joined, "null"), append(places, "null")
			continue
		}
		joined = append(joined, coded+plain+rows[i].Long)
		places = append(places, strings.Repeat("a", i%3)+strings.Repeat("b", i%5)+strings.Repeat("c", i%4))
	}
	m, d := openDecoder(t, writeRows(t, [][]textRow{rows}), Options{})
	for _, parts := range []int{1, 2} {
		l := Layout{}
		if parts > 1 {
			l = Layout{Parts: parts, Part: make([]uint8, len(rows))}
			for i := range l.Part {
				l.Part[i] = uint8(1 + i/150)
			}
		}
		blocks, err := d.Decode(fetch(t, m, Rows{Hi: 200}), l)
		if err != nil {
			t.Fatal(err)
		}
		listing := Listing{From: []int{1, 0, 2}, To: []ListedColumn{{At: 0, Field: listField}, {At: 3, Field: listField}}, Drop: []int{1}, List: letters}
		if err := d.List(listing, blocks); err != nil {
			t.Fatal(err)
		}
		var got, at []string
		for _, b := range blocks {
			got, at = append(got, listed(t, 0, b)...), append(at, listed(t, 3, b)...)
			var g Gatherer
			a, err := g.Gather(1, &column.Field{Kind: column.Null}, []*Block{b}, []Pick{MakePick(0, 3)}, heap)
			if err != nil || a.Nulls != 1 {
				t.Errorf("the dropped column has %v, error %v", a, err)
			}
			b.Release()
		}
		if !slices.Equal(got, joined) || !slices.Equal(at, places) {
			t.Errorf("%d parts: lists are\n%q, want\n%q; places\n%q, want\n%q", parts, got, joined, at, places)
		}
	}
}
