package rule

// CountTexts appends what count returns for the text of each row to dst: a zero for nulls and for
// rows whose bit in kept is 0. An entry of a dictionary is counted once.
func CountTexts[T any](c Column, rows int, kept []uint64, count func(row int, text []byte) (T, error), dst []T) ([]T, error) {
	present := make([]uint64, wordsFor(rows))
	c.present(present, rows)
	entry := c.entries()
	var known map[int]T
	if c.Codes != nil || c.Constant {
		known = map[int]T{}
	}
	for i := range rows {
		var n T
		if (present[i/64]&kept[i/64])>>(i%64)&1 == 0 {
			dst = append(dst, n)
			continue
		}
		k := entry(i)
		n, ok := known[k]
		if !ok {
			var err error
			if n, err = count(i, c.Values.Data[c.Values.Offsets[k]:c.Values.Offsets[k+1]]); err != nil {
				return dst, err
			}
			if known != nil {
				known[k] = n
			}
		}
		dst = append(dst, n)
	}
	return dst, nil
}
