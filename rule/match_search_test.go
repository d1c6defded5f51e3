package rule

import (
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

// TestSearchesAllocateNothingPerRow: a block of any size costs the same few allocations.
func TestSearchesAllocateNothingPerRow(t *testing.T) {
	name := &column.Field{Name: "name", Kind: column.Binary, Type: column.TypeString}
	for _, text := range []string{"lower(name) = 'x'", "name like '%a_b%'", "contains(upper(name), 'É')", "name ilike 'é%'"} {
		e := bindText(t, text, name).NewEvaluator()
		allocations := func(rows int) float64 {
			values := stringArray(strings.Split(strings.Repeat("ÉaÜb long enough to need scratch memory,", rows), ",")[:rows]...)
			values.Field = name
			return testing.AllocsPerRun(10, func() {
				if _, _, err := e.Evaluate(rows, []Column{{Values: values}}); err != nil {
					t.Fatal(err)
				}
			})
		}
		if few, many := allocations(64), allocations(6400); many > few+1 || many > 8 {
			t.Errorf("%s: %v allocations for 64 rows, %v for 6400", text, few, many)
		}
	}
}

// TestSearchesAskForUsedEntries: a dictionary of more entries than the block has rows is searched
// where rows have its entries, and a small one once for each entry.
func TestSearchesAskForUsedEntries(t *testing.T) {
	name := &column.Field{Name: "name", Kind: column.Binary, Type: column.TypeString}
	f := bindText(t, "contains(name, 'a')", name)
	asked := &counting{}
	f.root.(*leaf).match.(*searches).test = asked
	dictionary := stringArray(strings.Split(strings.Repeat("a,b,", 500), ",")[:1000]...)
	dictionary.Field = name
	for _, c := range []struct{ rows, want int }{{3, 3}, {2000, 1000}} {
		codes := make([]byte, c.rows*2)
		for i := range c.rows {
			code := i * 7 % 1000
			codes[2*i], codes[2*i+1] = byte(code), byte(code>>8)
		}
		asked.n = 0
		_, kept, err := f.NewEvaluator().Evaluate(c.rows, []Column{{Values: dictionary, Codes: codes, CodeWidth: 2}})
		if err != nil || asked.n != c.want || kept != (c.rows+1)/2 {
			t.Errorf("%d rows: %d values were searched, want %d; %d rows are kept, %v", c.rows, asked.n, c.want, kept, err)
		}
	}
}

// counting passes what contains an a, and counts the values.
type counting struct {
	substring
	n int
}

func (c *counting) passes(v []byte) bool {
	c.n++
	return strings.Contains(string(v), "a")
}
