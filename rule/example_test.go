package rule_test

import (
	"fmt"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rule"
)

// A filter over a block of four rows.
func Example() {
	e, err := rule.Parse(`score>=0.5 AND NOT (lang = "de")`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e)

	score, lang := column.FieldOf[float64]("score"), &column.Field{Name: "lang", Kind: column.Binary, Type: column.TypeString}
	filter, err := e.Bind(&column.Schema{Fields: []*column.Field{score, lang}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	scores := make([]byte, 4*8)
	languages := &column.Array{Field: lang, Len: 4, Offsets: []int32{0, 2, 4, 6, 8}, Data: []byte("endeenko")}
	block := []rule.Column{{Values: &column.Array{Field: score, Len: 4, Data: scores}}, {Values: languages}}
	for i, v := range []float64{0.7, 0.9, 0.2, 0.5} {
		values, _ := column.Values[float64](block[0].Values)
		values[i] = v
	}
	kept, n, err := filter.NewEvaluator().Evaluate(4, block)
	fmt.Printf("%d rows stay: %04b %v\n", n, kept[0], err)

	_, err = e.Bind(&column.Schema{Fields: []*column.Field{column.FieldOf[int32]("scores")}}, nil)
	fmt.Println(err)
	// Output:
	// score >= 0.5 and not lang = 'de'
	// 2 rows stay: 1001 <nil>
	// Filters names column "score", which the data does not have; there is "scores"
	// Filters names column "lang", which the data does not have; there is "scores"
}
