// Command evaluate is a test program: it reads filters from standard input, one JSON string a line,
// and prints for each the numbers of the rows of a parquet file that it keeps, as a JSON list, or
// its error as a JSON string.
//
//	evaluate FILE < filters
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rule"
)

// batchSize makes several blocks of a file of some thousand rows.
const batchSize = 1000

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "evaluate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	if len(os.Args) != 2 {
		return errors.New("usage: evaluate FILE < filters")
	}
	ds, err := shardfeed.Open(ctx, shardfeed.Spec{Addresses: os.Args[1:], Caching: shardfeed.Caching{NoCache: true}}, shardfeed.Events{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ds.Close(ctx)) }()
	var answers []*answer
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var text string
		if err := json.Unmarshal(in.Bytes(), &text); err != nil {
			return err
		}
		answers = append(answers, ask(ds, text))
	}
	l, err := loader.New(ds.Dataset, loader.Options{BatchSize: batchSize, Tail: "short", UntilEpoch: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	first := 0
	for batch, err := range l.Batches(ctx) {
		if err != nil {
			return err
		}
		for _, a := range answers {
			a.add(batch, first)
		}
		first += batch.Valid
		batch.Release()
	}
	out := json.NewEncoder(os.Stdout)
	for _, a := range answers {
		if err := out.Encode(a.json()); err != nil {
			return err
		}
	}
	return nil
}

// An answer is what a filter keeps, or why it cannot be used.
type answer struct {
	filter    *rule.Filter
	evaluator *rule.Evaluator
	rows      []int
	err       error
}

func ask(ds *shardfeed.Dataset, text string) *answer {
	e, err := rule.Parse(text)
	if err != nil {
		return &answer{err: err}
	}
	f, err := e.Bind(ds.Schema(), os.ReadFile)
	if err != nil {
		return &answer{err: err}
	}
	return &answer{filter: f, evaluator: f.NewEvaluator(), rows: []int{}}
}

// add evaluates the filter on a batch whose rows follow those before.
func (a *answer) add(b *loader.Batch, first int) {
	if a.err != nil {
		return
	}
	var columns []rule.Column
	for _, in := range a.filter.Inputs() {
		top, err := b.Column(in.Path[0])
		if err != nil {
			a.err = err
			return
		}
		c, err := rule.NewColumn(top, in.Path...)
		if err != nil {
			a.err = err
			return
		}
		columns = append(columns, c)
	}
	kept, _, err := a.evaluator.Evaluate(b.Valid, columns)
	if err != nil {
		a.err = err
		return
	}
	for i := range b.Valid {
		if kept[i/64]>>(i%64)&1 == 1 {
			a.rows = append(a.rows, first+i)
		}
	}
}

func (a *answer) json() any {
	if a.err != nil {
		return a.err.Error()
	}
	return a.rows
}
