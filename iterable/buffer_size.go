package iterable

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/size"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A Size is a number of rows or of bytes. The zero value leaves the choice to the default.
type Size struct {
	Rows  int64 // wins over Bytes
	Bytes int64 // uncompressed, of all columns
	Per   Per   // "" is over all ranks together
}

// A Per gives each rank or node a [Size] of its own.
type Per string

// What may have a size of its own. All together have that times their number at the start; a state
// keeps the product, so a resume on another world size does not change it.
const (
	PerRank Per = "rank"
	PerNode Per = "node"
)

// ParseSize parses a number of rows, as in "100000", or of bytes, as in "512MiB". With "/rank" or
// "/node" after it, each rank or node has this size.
func ParseSize(s string) (Size, error) {
	text, each, found := strings.Cut(s, "/")
	n, err := size.Parse(text)
	per := Per(strings.ToLower(strings.TrimSpace(each)))
	switch {
	case err != nil, found && per != PerRank && per != PerNode:
		return Size{}, fmt.Errorf("must be rows, as in 100000, or bytes, as in 512MiB, with /rank or /node for each, got %q", s)
	case n == 0:
		return Size{}, errors.New("must be above 0, got 0")
	case strings.ContainsAny(text, units):
		return Size{Bytes: n, Per: per}, nil
	}
	return Size{Rows: n, Per: per}, nil
}

// units are the letters of the units of bytes.
const units = "bkmgtiBKMGTI"

// String is the size as users write it: 100000, 512MiB or 8GiB/node.
func (s Size) String() string {
	var text string
	switch {
	case s.Rows > 0:
		text = strconv.FormatInt(s.Rows, 10)
	case s.Bytes%(1<<30) == 0:
		text = fmt.Sprintf("%dGiB", s.Bytes>>30)
	case s.Bytes%(1<<20) == 0:
		text = fmt.Sprintf("%dMiB", s.Bytes>>20)
	default:
		text = fmt.Sprintf("%dB", s.Bytes)
	}
	if s.Per != "" {
		text += "/" + string(s.Per)
	}
	return text
}

// validate checks the numbers, however the size was made.
func (s Size) validate(p *option.List) {
	p.Within("ShuffleBuffer.Rows", s.Rows, option.MaxRows)
	p.Within("ShuffleBuffer.Bytes", s.Bytes, option.MaxBytes)
	p.OneOf("ShuffleBuffer.Per", string(s.Per), string(PerRank), string(PerNode))
	if s.Per != "" && s.Rows == 0 && s.Bytes == 0 {
		p.Add("ShuffleBuffer.Per", "needs a number of rows or bytes, got %q alone", s.Per)
	}
}

// total returns the size over all ranks together. local is the number of ranks on a node; 0 is
// unknown.
func (s Size) total(worldSize, local int) (of shuffle.BufferSize, err error) {
	times := 1
	switch s.Per {
	case PerRank:
		times = worldSize
	case PerNode:
		if times, err = s.nodes(worldSize, local); err != nil {
			return of, err
		}
	}
	return shuffle.BufferSize{
		Rows:      min(mem.MulDiv(s.Rows, int64(times), 1), option.MaxRows),
		Bytes:     min(mem.MulDiv(s.Bytes, int64(times), 1), option.MaxBytes),
		WorldSize: worldSize,
	}, nil
}

// nodes is how many nodes the ranks fill, local on each.
func (s Size) nodes(worldSize, local int) (int, error) {
	switch {
	case worldSize <= 1:
		return 1, nil
	case local <= 0:
		return 0, &OptionError{Field: "ShuffleBuffer", Text: fmt.Sprintf("%v needs to know how many of the %d ranks a node has: "+
			"set LOCAL_WORLD_SIZE, or give a size per rank", s, worldSize)}
	case worldSize%local != 0:
		return 0, &OptionError{Field: "ShuffleBuffer", Text: fmt.Sprintf("%v needs nodes of equally many ranks, and %d ranks do not fill "+
			"nodes of %d: give a size per rank", s, worldSize, local)}
	}
	return worldSize / local, nil
}
