package iterable

import (
	"fmt"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable/internal/samples"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A PackPlan predicts an epoch's samples if they have several rows.
type PackPlan = samples.PackPlan

// wellUsed is the utilisation below which a plan proposes another layout: 25 blocks a unit.
const wellUsed = 0.98

// packPlan is nil where samples are rows.
func (d *source) packPlan(units *shuffle.Units) *PackPlan {
	k := d.packing()
	if k == nil {
		return nil
	}
	counted := d.counted()
	p := &PackPlan{Tokens: counted.Tokens, Sorted: counted.Sorted}
	if k.Bucket != nil {
		p.Strategy, p.Size = "bucket", k.Bucket.Tokens()
	} else {
		p.Strategy, p.Size = string(k.Spec.PackStrategy()), k.Spec.Size()
	}
	for _, u := range units.All() {
		if p.Blocks += u.Samples; u.Samples > 0 {
			p.Units++
		}
	}
	p.Counted = p.Tokens > 0
	switch {
	case p.Counted:
	case k.Texts():
		p.Tokens, p.Counted = k.TextTokens(counted.Texts)
	case k.Bucket == nil && len(d.rules.Given) == 1:
		for g := range d.data.Groups {
			p.Tokens += d.manifest.ListItems(g, k.Tokens) + d.data.Groups[g].Rows*int64(k.Spec.Extra())
		}
	}
	switch padded := counted.Padded; {
	case k.Bucket != nil && padded > 0:
		p.Utilisation = float64(p.Tokens) / float64(padded)
	case k.Bucket == nil && p.Blocks > 0:
		p.Utilisation = min(1, float64(p.Tokens)/float64(p.Blocks)/float64(p.Size))
	}
	if !k.Declared && counted.Read {
		for g := range d.data.Groups {
			fetch, _ := d.manifest.RuleBytes(g)
			p.Counting += fetch
		}
	}
	return p
}

// dearCounting is how many bytes of lists a plan speaks of that are read to count blocks.
const dearCounting = 1 << 30

// proposePacking proposes what would fill blocks better, and count them sooner.
func (p *Plan) proposePacking(add func(format string, args ...any)) {
	k := p.Packed
	if k == nil {
		return
	}
	if k.Strategy == "bucket" {
		p.proposeBuckets(add)
		return
	}
	if k.Tokens > 0 && k.Utilisation < wellUsed {
		add("blocks are %.1f %% full: a unit loses about half a block, and has %.1f of them; write row groups of at least %d tokens (25 blocks)%s",
			100*k.Utilisation, float64(k.Blocks)/float64(max(1, k.Units)), 25*k.Size, p.largerUnits())
	}
	if k.Counting >= dearCounting {
		add("counting blocks reads %s of lists: write a column with their lengths and name it in {Pack}, or write data pages of version 2", mem.Bytes(k.Counting))
	}
}

// wellPadded is the utilisation of batches below which a plan proposes how to write the data.
const wellPadded = 0.95

// proposeBuckets proposes what would make better batches.
func (p *Plan) proposeBuckets(add func(format string, args ...any)) {
	k := p.Packed
	if k.Sorted {
		add("rows are sorted by length from file to file, and a batch has rows of one row group: mix them when they are written, or give classes of lengths " +
			"as sources of their own")
	}
	if k.Utilisation > 0 && k.Utilisation < wellPadded {
		add("%.1f %% of the tokens of batches are padding: a row group makes %.1f batches; write larger row groups%s",
			100*(1-k.Utilisation), float64(k.Blocks)/float64(max(1, k.Units)), p.largerUnits())
	}
}

// largerUnits returns the advice for units that are slices of row groups.
func (p *Plan) largerUnits() string {
	if p.Units > p.read.groups {
		return fmt.Sprintf(", or set {UnitRows} above the %d rows of a unit now", p.read.rows/int64(max(1, p.Units)))
	}
	return ""
}
