package driver

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// Limits of a brace expansion: what a list in memory can sensibly hold.
const (
	maxExpansions     = 1 << 20
	maxExpansionBytes = 1 << 28
	maxBraces         = 1000 // opening braces in one address
)

// expandAddress expands the braces of an address like bash: {a,b} and nested ones, {000..999} with
// the zero padding of its wider end, {9..0} downwards, {0..90..10} by steps, {a..e}. Other braces
// are kept, and a backslash makes a brace or comma literal (it is left in place). An address
// without braces is its only result.
func expandAddress(s string) ([]string, error) {
	if strings.Count(s, "{") > maxBraces {
		return nil, fmt.Errorf("%w: more than %d braces", shard.ErrBadURI, maxBraces)
	}
	return expandBraces(s)
}

func expandBraces(s string) ([]string, error) {
	open, end, commas := findBraces(s)
	if end == 0 {
		return []string{s}, nil
	}
	middle, err := alternatives(s[:end], open+1, commas)
	if err != nil {
		return nil, err
	}
	tails, err := expandBraces(s[end+1:])
	if err != nil {
		return nil, err
	}
	n := len(middle) * len(tails)
	if n > maxExpansions || n*len(s) > maxExpansionBytes {
		return nil, fmt.Errorf("%w: the braces expand to %d names, more than one address can hold", shard.ErrBadURI, n)
	}
	all := make([]string, 0, n)
	for _, m := range middle {
		for _, t := range tails {
			all = append(all, s[:open]+m+t)
		}
	}
	return all, nil
}

// findBraces returns the first brace expression of s and its commas; end is 0 without one.
func findBraces(s string) (open, end int, commas []int) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '{':
			end, commas := closingBrace(s, i)
			if end == 0 {
				continue
			}
			if _, _, _, isSeq := parseSequence(s[i+1 : end]); len(commas) > 0 || isSeq {
				return i, end, commas
			}
		}
	}
	return 0, 0, nil
}

// closingBrace returns the brace that closes the one at open, or 0, and the commas at their level.
func closingBrace(s string, open int) (end int, commas []int) {
	depth := 0
	for i := open; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			depth--
			if depth == 0 {
				return i, commas
			}
		case ',':
			if depth == 1 {
				commas = append(commas, i)
			}
		}
	}
	return 0, nil
}

// alternatives expands the text between two braces, from a byte of s to its end.
func alternatives(s string, from int, commas []int) ([]string, error) {
	if first, last, step, ok := parseSequence(s[from:]); ok {
		return first.upTo(last, step)
	}
	var all []string
	for _, end := range append(commas, len(s)) {
		some, err := expandBraces(s[from:end])
		if err != nil {
			return nil, err
		}
		if all = append(all, some...); len(all) > maxExpansions {
			return nil, fmt.Errorf("%w: the braces expand to more than %d names", shard.ErrBadURI, maxExpansions)
		}
		from = end + 1
	}
	return all, nil
}

// A bound is one end of a sequence {x..y}: a number or a letter.
type bound struct {
	value  int64
	letter bool
	width  int // digits to pad to, or 0
}

func parseSequence(body string) (first, last bound, step uint64, ok bool) {
	parts := strings.Split(body, "..")
	if len(parts) != 2 && len(parts) != 3 {
		return first, last, 0, false
	}
	first, ok1 := parseBound(parts[0])
	last, ok2 := parseBound(parts[1])
	if !ok1 || !ok2 || first.letter != last.letter {
		return first, last, 0, false
	}
	step = 1
	if len(parts) == 3 {
		n, err := strconv.ParseInt(parts[2], 10, 64)
		if err != nil {
			return first, last, 0, false
		}
		step = max(1, distance(0, n))
	}
	if first.width > 0 || last.width > 0 { // one padded end pads all to the wider
		first.width = max(len(parts[0]), len(parts[1]))
	}
	return first, last, step, true
}

func parseBound(s string) (bound, bool) {
	if len(s) == 1 && ('a' <= s[0] && s[0] <= 'z' || 'A' <= s[0] && s[0] <= 'Z') {
		return bound{value: int64(s[0]), letter: true}, true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || s[0] == '+' {
		return bound{}, false
	}
	b := bound{value: n}
	if digits := strings.TrimPrefix(s, "-"); len(digits) > 1 && digits[0] == '0' {
		b.width = len(s)
	}
	return b, true
}

// upTo lists the sequence from b to last, downwards when last is smaller.
func (b bound) upTo(last bound, step uint64) ([]string, error) {
	n := distance(b.value, last.value) / step
	if n >= maxExpansions || (n+1)*uint64(max(b.width, 1)) > maxExpansionBytes {
		return nil, fmt.Errorf("%w: the braces expand to more than %d names", shard.ErrBadURI, maxExpansions)
	}
	all := make([]string, n+1)
	for i := range all {
		delta := int64(uint64(i) * step)
		if last.value < b.value {
			delta = -delta
		}
		if b.letter {
			all[i] = string(rune(b.value + delta))
		} else {
			all[i] = fmt.Sprintf("%0*d", b.width, b.value+delta)
		}
	}
	return all, nil
}

// distance is |a-b|, which can exceed an int64.
func distance(a, b int64) uint64 {
	if a > b {
		a, b = b, a
	}
	return uint64(b) - uint64(a)
}
