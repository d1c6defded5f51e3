package samples

import (
	"testing"

	"github.com/shardfeed/shardfeed/iterable/internal/transform"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shuffle"
	"github.com/shardfeed/shardfeed/tokenize"
	"github.com/shardfeed/shardfeed/tokenize/tokenizetest"
)

// openTitles opens the shop with a packing of the tokens of its titles.
func openTitles(t *testing.T, filters string) *Data {
	t.Helper()
	tok, err := tokenize.Load(tokenizetest.File("t h", "e r"))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Choice: Choice{Filters: filters}, Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"title": 64}}}}
	d := openShop(t, o, transform.Options{Tokenize: map[string]transform.Tokenizer{"title": {Tokenizer: tok}}})
	d.Rules.Pack.Known = &LengthStore{}
	return d
}

// Texts are counted with their blocks, and found again by the next start.
func TestTextsAreKept(t *testing.T) {
	d, dir := openTitles(t, "price > 20"), t.TempDir()
	count := func() (Totals, int) {
		var units []shuffle.Unit
		for g, group := range d.List.Groups {
			units = append(units, shuffle.Unit{Group: g, Hi: group.Rows / 2}, shuffle.Unit{Group: g, Lo: group.Rows / 2, Hi: group.Rows})
		}
		estimates := 0
		totals, err := d.Count(t.Context(), units, Counting{
			IndexDir: dir, Identity: func(uri string) string { return uri }, measure: 1,
			Estimated: func(e TextEstimate) {
				estimates++
				if e.Bytes < 1000 || e.Speed <= 0 || e.Took() <= 0 {
					t.Errorf("the estimate is %v", e)
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return totals, estimates
	}
	first, estimates := count()
	texts := first.Texts
	if texts == nil || texts.Documents == 0 || texts.Bytes < texts.Documents || texts.Tokens < texts.Bytes/2 || first.Work.Bytes == 0 || estimates != 1 {
		t.Fatalf("the first start counted %+v in %+v, with %d estimates", texts, first.Work, estimates)
	}
	second, estimates := count()
	if second.Read || second.Texts == nil || *second.Texts != *texts || estimates != 0 {
		t.Errorf("the second start found %+v, want %+v; it read %t", second.Texts, texts, second.Read)
	}
}
