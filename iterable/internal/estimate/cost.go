package estimate

import (
	"math"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/iterable/internal/samples"
	"github.com/shardfeed/shardfeed/rowgroup"
)

const (
	MostParts    = 16                            // that a load is divided into by the order in which its rows leave, when it is large enough
	WidePart     = 1 << 20                       // bytes of wide columns that a part holds at least
	narrowPart   = 512 << 10                     // or of narrow ones
	wideEndBytes = 64 << 10                      // of a part's last chunk of wide values stay empty
	partEndBytes = 64 << 10                      // at most, of the last of the buffers that its narrow columns share: these start with half of it, and double
	keptPart     = wideEndBytes + partEndBytes/2 // what each part of few rows takes more
	packingPart  = 16                            // narrow columns of a part take 1/packingPart more, if they do not fill the buffers that they share
	blockBytes   = 48 << 10                      // that the smallest slice takes
	roundingPart = 8                             // what is cut into pieces takes 1/roundingPart more, rounded to the pool's sizes
)

// FreeScratch is the scratch of one decoder that no account counts: the process has as much beside
// them, as the promise of its memory says.
const FreeScratch = 16 << 20

// A Cost has the bytes of a load.
type Cost struct {
	Fetch  int64
	Whole  int64 // until the last row has left
	Parted int64 // what is divided into parts, each of which goes with its last row
	Parts  int

	Scratch int64 // while it is decoded
}

// Bytes of the blocks.
func (c Cost) Bytes() int64 { return c.Whole + c.Parted }

// BeyondFree is the scratch that the process has no room for besides its accounts.
func (c Cost) BeyondFree() int64 { return max(0, c.Scratch-FreeScratch) }

// Largest takes the larger of each cost.
func (c Cost) Largest(d Cost) Cost {
	if d.Bytes() > c.Bytes() {
		c.Whole, c.Parted, c.Parts = d.Whole, d.Parted, d.Parts
	}
	c.Fetch, c.Scratch = max(c.Fetch, d.Fetch), max(c.Scratch, d.Scratch)
	return c
}

// Divide adds the blocks of samples of a group, or of a slice of one.
func (c Cost) Divide(d Group, samples int64, divided bool) Cost {
	d.Narrow, d.Whole = d.Narrow+samples*ahead.OrderBytes, d.Whole+samples*ahead.OrderBytes
	narrow := d.Narrow - d.Whole
	if c.Parts = int(min(MostParts, max(d.Wide/WidePart, narrow/narrowPart), samples)); !divided || c.Parts < 2 {
		c.Whole, c.Parts = d.Narrow+d.Wide, 0
		return c
	}
	c.Whole, c.Parted = d.Whole, partedBytes(narrow, d.Wide, int64(c.Parts))
	return c
}

// DivideKept adds the blocks of samples that are few of a unit's rows. They stay in the buffer as
// long as all rows would, so that it holds many such units. So each has parts although it is small,
// in the number that minimizes the buffer's average memory when each part takes keptPart more.
func (c Cost) DivideKept(k rowgroup.Kept, samples int64, divided bool) Cost {
	order := samples * ahead.OrderBytes
	c.Parts = int(min(MostParts, max(k.Wide/WidePart, k.Divided/narrowPart, int64(math.Sqrt(float64(k.Wide/keptPart)))), samples))
	if !divided || c.Parts < 2 {
		c.Whole, c.Parts = k.Narrow+k.Wide+blockBytes+order, 0
		return c
	}
	c.Whole, c.Parted = k.Whole+order, partedBytes(k.Divided, k.Wide, int64(c.Parts))
	return c
}

// partedBytes returns the bytes of parts of narrow and wide columns together.
func partedBytes(narrow, wide, parts int64) int64 {
	n := wide + narrow + narrow/packingPart + min(parts*partEndBytes, parts*partEndBytes/2+narrow)
	if wide > 0 {
		n += parts * wideEndBytes
	}
	return n
}

// Slice returns the estimate of some of all rows of a group.
func (d Group) Slice(rows, all int64) Group {
	narrow := Slice(d.Narrow, rows, all, d.Scratch.Edges) + d.Narrow/roundingPart*rows/all + blockBytes
	d.Wide = Slice(d.Wide, rows, all, d.Scratch.Edges)
	d.Narrow, d.Whole = narrow, min(d.Whole+blockBytes, narrow) // a dictionary is the group's
	return d
}

// Slice estimates the bytes of some of all rows, including the pages across their edges, which hold
// about edges bytes.
func Slice(bytes, rows, all, edges int64) int64 {
	return min(bytes, mem.MulDiv(bytes, rows, all)+min(bytes/samples.EdgePart, edges))
}

// InBlocks returns the memory of a number of blocks, or batches, of bytes in all.
func InBlocks(bytes, blocks int64) int64 { return bytes + bytes/roundingPart + blocks*blockBytes }
