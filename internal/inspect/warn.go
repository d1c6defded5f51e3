package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A Warning is something that makes reading or shuffling worse than it need be.
type Warning struct {
	Kind string `json:"kind"` // a stable name
	Text string `json:"text"` // what is so, with numbers
	Do   string `json:"do"`   // what to write instead
}

// Limits of the warnings. The slices follow package shuffle's rule.
const (
	blockBytes   = 128 << 20 // an HDFS block
	smallData    = 256 << 20 // a shuffle buffer for all rows costs little
	goodUnits    = 32        // units in the buffer that mix well
	slicesAtMost = 8         // of a row group with a page index
	sliceLeast   = 16 << 20
	tokensLeast  = 1 << 20 // bytes of a column from which its encoding matters
	listsLeast   = 1 << 30 // bytes of lists from which it matters what counting their items reads
	tinyBytes    = 64 << 10
	tinyGroups   = 100
	footerShare  = 20 // a footer of over 1/footerShare of its file is large
	footerLeast  = 1 << 20
)

func (r *Report) warnings() []Warning {
	var all []Warning
	for _, w := range []func() *Warning{
		r.warnUnreadable, r.warnBlock, r.warnShuffle, r.warnPageIndex, r.warnTokens, r.warnLengths, r.warnTiny, r.warnFooter,
	} {
		if one := w(); one != nil {
			all = append(all, *one)
		}
	}
	return all
}

// rowsFor returns the number of mean rows in some uncompressed bytes, rounded down to two digits.
func (r *Report) rowsFor(bytes int64) int64 {
	rows := mem.MulDiv(bytes, r.Total.Rows, max(1, r.Total.Uncompressed))
	unit := int64(1)
	for rows/unit >= 100 {
		unit *= 10
	}
	return max(1, rows/unit*unit)
}

func (r *Report) warnUnreadable() *Warning {
	for _, c := range r.Total.Columns {
		if c.unreadable != "" {
			return &Warning{
				Kind: "unreadable",
				Text: fmt.Sprintf("column %q cannot be read: %s", c.Path, c.unreadable),
				Do:   "leave the column out, or write it in another way",
			}
		}
	}
	return nil
}

func (r *Report) warnBlock() *Warning {
	n, worst := 0, ShardReport{}
	for _, s := range r.Shards {
		if s.LargestEncoded > blockBytes {
			n++
		}
		if s.LargestEncoded > worst.LargestEncoded {
			worst = s
		}
	}
	if n == 0 {
		return nil
	}
	have := "have"
	if n == 1 {
		have = "has"
	}
	rows := mem.MulDiv(blockBytes, r.Total.Rows, max(1, r.Total.Compressed))
	return &Warning{
		Kind: "row_group_over_block",
		Text: fmt.Sprintf("%d of %s %s row groups over 128 MiB (the largest has %s, in %s), so that one lies in two HDFS blocks or more",
			n, text.Plural(len(r.Shards), "shard"), have, formatBytes(worst.LargestEncoded), worst.URI),
		Do: fmt.Sprintf("write row groups of at most %s", text.Plural(max(1, rows), "row")),
	}
}

func (r *Report) warnShuffle() *Warning {
	if r.Total.Uncompressed <= smallData {
		return nil
	}
	unit := r.Total.LargestBytes
	if r.Total.PageIndex == ShareAll {
		unit = max(unit/slicesAtMost, min(unit, sliceLeast))
	}
	buffer := shuffle.DefaultBuffer(r.Total.Uncompressed, unit)
	if unit*goodUnits <= buffer || buffer >= r.Total.Uncompressed {
		return nil
	}
	return &Warning{
		Kind: "row_group_over_shuffle",
		Text: fmt.Sprintf("row groups of up to %s uncompressed are large beside a shuffle buffer of %s: it holds %s at a time, so batches come from few places",
			formatBytes(r.Total.LargestBytes), formatBytes(buffer), text.Plural(max(1, buffer/max(1, unit)), "unit")),
		Do: fmt.Sprintf("write row groups of at most %d rows (%s), or give a larger shuffle buffer", r.rowsFor(buffer/goodUnits), formatBytes(buffer/goodUnits)),
	}
}

func (r *Report) warnPageIndex() *Warning {
	if r.Total.PageIndex == ShareAll || r.Total.LargestBytes < 2*sliceLeast {
		return nil
	}
	return &Warning{
		Kind: "no_page_index",
		Text: fmt.Sprintf("%s of the column chunks have a page index, so row groups of up to %s are shuffled whole", r.Total.PageIndex, formatBytes(r.Total.LargestBytes)),
		Do:   "write a page index (pyarrow: write_page_index=True), then a row group is cut into up to 8 units",
	}
}

func (r *Report) warnTokens() *Warning {
	for _, c := range r.Total.Columns {
		if !c.repeated || c.physical != format.Int32 && c.physical != format.Int64 || c.Uncompressed < tokensLeast {
			continue
		}
		if slices.ContainsFunc(c.Encodings, func(e string) bool { return e != format.Plain.String() && !levelsOnly(e) }) {
			continue
		}
		return &Warning{
			Kind: "plain_tokens",
			Text: fmt.Sprintf("column %q holds %s of integers in PLAIN, which decodes two to three times slower than a dictionary", c.Path, formatBytes(c.Uncompressed)),
			Do:   "write it with a dictionary (pyarrow: use_dictionary=True and a large enough dictionary_pagesize_limit)",
		}
	}
	return nil
}

// levelsOnly is about encodings that footers list for levels, not for integers.
func levelsOnly(e string) bool { return e == format.RLE.String() || e == format.BitPacked.String() }

// warnLengths is about tokens that a run may pack into blocks: how many there are follows from the
// lengths of the lists, which compressed pages of version 1 hide among the values.
func (r *Report) warnLengths() *Warning {
	if slices.ContainsFunc(r.Total.Columns, isLengths) {
		return nil
	}
	for _, c := range r.Total.Columns {
		if !c.repeated || c.physical != format.Int32 && c.physical != format.Int64 || c.Uncompressed < listsLeast || slices.Contains(c.Codecs, format.Uncompressed.String()) {
			continue
		}
		return &Warning{
			Kind: "no_list_lengths",
			Text: fmt.Sprintf("column %q holds %s of compressed lists, and no column their lengths: a run that packs them reads them once more to count its blocks",
				c.Path, formatBytes(c.Uncompressed)),
			Do: "write the lists' lengths as a column of integers, as n_tokens, or data pages of version 2 (pyarrow: data_page_version=\"2.0\")",
		}
	}
	return nil
}

// isLengths reports whether a column has one integer a row and a name typical of lengths.
func isLengths(c Column) bool {
	integer := c.physical == format.Int32 || c.physical == format.Int64
	return integer && !c.repeated && slices.ContainsFunc([]string{"len", "tokens", "num", "count", "n_"}, func(part string) bool {
		return strings.Contains(strings.ToLower(c.Path), part)
	})
}

func (r *Report) warnTiny() *Warning {
	if r.Total.RowGroups < tinyGroups || r.Total.Compressed/int64(r.Total.RowGroups) >= tinyBytes {
		return nil
	}
	return &Warning{
		Kind: "tiny_row_groups",
		Text: fmt.Sprintf("%d row groups hold %s each in the mean, so that finding them costs more than reading them",
			r.Total.RowGroups, formatBytes(r.Total.Compressed/int64(r.Total.RowGroups))),
		Do: fmt.Sprintf("write row groups of %d rows or more", r.rowsFor(sliceLeast)),
	}
}

func (r *Report) warnFooter() *Warning {
	worst := ShardReport{}
	for _, s := range r.Shards {
		if s.FooterBytes > worst.FooterBytes {
			worst = s
		}
	}
	if worst.FooterBytes < footerLeast || worst.FooterBytes*footerShare < worst.FileBytes {
		return nil
	}
	return &Warning{
		Kind: "large_footer",
		Text: fmt.Sprintf("the footer of %s is %s of its %s", worst.URI, formatBytes(worst.FooterBytes), formatBytes(worst.FileBytes)),
		Do:   "write no statistics for binary columns, larger row groups, or fewer columns",
	}
}
