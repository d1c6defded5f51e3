package rule

import "slices"

// CountTexts appends what count returns for the texts of each row in some columns to dst: a zero
// for rows with a null, and for rows whose bit in kept is 0. With one column, each entry of a
// dictionary is counted once.
func CountTexts[T any](columns []Column, rows int, kept []uint64, count func(row int, texts [][]byte) (T, error), dst []T) ([]T, error) {
	present := make([]uint64, wordsFor(rows))
	wanted := slices.Clone(kept[:wordsFor(rows)])
	entries, texts := make([]func(int) int, len(columns)), make([][]byte, len(columns))
	for i := range columns {
		columns[i].present(present, rows)
		for w := range wanted {
			wanted[w] &= present[w]
		}
		entries[i] = columns[i].entries()
	}
	var known map[int]T
	if len(columns) == 1 && (columns[0].Codes != nil || columns[0].Constant) {
		known = map[int]T{}
	}
	for row := range rows {
		if wanted[row/64]>>(row%64)&1 == 0 {
			var none T
			dst = append(dst, none)
			continue
		}
		entry := entries[0](row)
		n, ok := known[entry]
		if !ok {
			for i, c := range columns {
				k := entries[i](row)
				texts[i] = c.Values.Data[c.Values.Offsets[k]:c.Values.Offsets[k+1]]
			}
			var err error
			if n, err = count(row, texts); err != nil {
				return dst, err
			}
			if known != nil {
				known[entry] = n
			}
		}
		dst = append(dst, n)
	}
	return dst, nil
}
