package iterable

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"

	"github.com/shardfeed/shardfeed/iterable/internal/samples"
	"github.com/shardfeed/shardfeed/iterable/internal/transform"
)

// What Options.WeightsIn may be.
const (
	InSamples = "samples"
	InTokens  = "tokens"
)

// validateTokens checks what weights are in.
func (o Options) validateTokens(p *option.List, counts bool) {
	if o.WeightsIn == InTokens && counts {
		p.Add("WeightsIn", "contradicts repeat and choose of {Sources}, which count samples; leave it out")
	}
	switch {
	case o.Tokens == "":
	case o.WeightsIn != InTokens:
		p.Add("Tokens", "needs {WeightsIn} %q, got %q alone", InTokens, o.Tokens)
	case o.Pack != nil:
		p.Add("Tokens", "contradicts {Pack}: a block has as many tokens as any other; leave it out")
	}
}

// sourceTokens are the tokens of each source, counted where no plan and no inventory has them; nil
// where weights are of samples.
func (d *mixture) sourceTokens(ctx context.Context, parts []rowgroup.Part) ([]int64, error) {
	o := d.options
	if o.Plan != nil {
		return o.Plan.AllTokens(), nil
	}
	if o.WeightsIn != InTokens {
		return nil, nil
	}
	if known := o.Inventory.Tokens(d.rules()); known != nil {
		return known, nil
	}
	return d.tokensOf(ctx, parts)
}

// tokensOf finds how many tokens the samples of each source have in an epoch of it. A block of
// tokens counts whole. Of lists they are counted as a packing into blocks of one token counts its
// blocks: by footers if they have the numbers, else by reading lengths, and kept in the index.
// parts are the data set's.
func (d *mixture) tokensOf(ctx context.Context, parts []rowgroup.Part) ([]int64, error) {
	o, all := d.options, make([]int64, len(d.sources))
	if o.Pack != nil {
		for i, s := range d.sources {
			all[i] = mem.MulDiv(s.samples, int64(o.Pack.Size()), 1)
		}
		return all, nil
	}
	name, err := d.tokensColumn()
	if err != nil {
		return nil, err
	}
	o.Pack, o.Bucket = &Pack{Pack: rule.Pack{Columns: map[string]int{name: 1}}}, nil
	o.Columns, o.RowIDs, o.RowKeys, o.Words = []string{name}, false, false, Words{}
	o.Tokenize = maps.Clone(o.Tokenize)
	maps.DeleteFunc(o.Tokenize, func(of string, t Tokenizer) bool { return !slices.Contains(t.Columns(of), name) })
	var shards []shard.Shard
	for i, s := range o.Sources {
		shards = append(shards, parts[i].Shards...)
		own := s.options(o)
		parts[i].RuleColumns, parts[i].Screen = own.rule().Columns().List, own.rule().Screen()
	}
	c := newCommon(d.stores, shards, o)
	defer c.pool.Close()
	manifests, err := rowgroup.OpenParts(ctx, d.stores, parts, o.rowgroupOptions(c.pool, nil))
	if err != nil {
		return nil, err
	}
	all, err = countTokens(ctx, c, manifests, o, name)
	err = errors.Join(err, manifests[0].Close())
	return all, err
}

func countTokens(ctx context.Context, c *common, manifests []*rowgroup.Reader, o Options, name string) (all []int64, err error) {
	made, err := transform.Bind(manifests[0].Schema(), o.changes())
	if err == nil {
		err = samples.CheckTokens(name, made.Schema.Fields)
	}
	if err != nil {
		return nil, err
	}
	for i, m := range manifests {
		s, err := newSource(ctx, c, o.Sources[i].Name, o.Sources[i].Addresses, m, o.Sources[i].options(o))
		if errors.Is(err, ErrNoRow) {
			err = fmt.Errorf("column %q has no token, so no share of tokens can be of it; leave the source out", name)
		}
		if err != nil {
			return nil, &SourceError{o.Sources[i].Name, err}
		}
		all = append(all, s.samples)
	}
	return all, nil
}

// tokensColumn is the column whose items are tokens.
func (d *mixture) tokensColumn() (string, error) {
	if d.options.Tokens != "" {
		return d.options.Tokens, nil
	}
	var lists []string
	made := d.sources[0].transforms
	for _, f := range made.Schema.Fields {
		switch {
		case f.Name == "" || !samples.HasTokens(f) || f.Name == LabelsColumn && made.Labels() != nil:
		case d.options.Bucket != nil && d.options.Bucket.Name() == f.Name:
			return f.Name, nil
		default:
			lists = append(lists, f.Name)
		}
	}
	switch len(lists) {
	case 0:
		return "", &OptionError{Field: "WeightsIn", Text: fmt.Sprintf("%q needs a column of lists whose items are tokens, and no column that is read is one: "+
			"name it by {Tokens}, or give weights in %q", InTokens, InSamples)}
	case 1:
		return lists[0], nil
	}
	return "", &OptionError{Field: "WeightsIn", Text: fmt.Sprintf("%q needs to know which lists are tokens, and there are %s: name one of them by {Tokens}",
		InTokens, option.Literal(strings.Join(lists, ", ")))}
}
