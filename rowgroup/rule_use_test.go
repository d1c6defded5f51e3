package rowgroup

import (
	"errors"
	"slices"
	"strings"
	"testing"

	parquetgo "github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/shard"
)

// lentRules opens a file in a store that lends, with rule columns.
func lentRules(t *testing.T, file []byte, damagedAt int64, o Options) (*Reader, *lender, *Decoder) {
	t.Helper()
	store, shards := putFiles(t, map[string][]byte{"a.parquet": file})
	from := &lender{Store: store, damagedAt: damagedAt}
	m, err := Open(t.Context(), from, shards, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	d := newDecoder(&mem.Pool{}, false)
	t.Cleanup(d.Close)
	return m, from, d
}

// Lent bytes of rule columns are verified by DecodeRule, before the rule sees a value, and those
// that are delivered too are not touched again by Decode.
func TestRuleVerifiedAfterUse(t *testing.T) {
	file := wideFile(t, parquetgo.Compression(&parquetgo.Snappy), 20_000, 1)
	columns := []string{"id", "label", "image", "tags", "text"}
	plain, _, d := lentRules(t, file, -1, Options{Columns: columns})
	want, err := d.Decode(fetch(t, plain, Rows{Hi: 300}), Layout{})
	if err != nil {
		t.Fatal(err)
	}
	m, from, d := lentRules(t, file, -1, Options{Columns: columns, RuleColumns: ruleColumns([]string{"tags", "text", "id", "image", "name"}, true)})
	raw := fetch(t, m, Rows{Hi: 300})
	if raw.Bytes() != m.Groups()[0].Compressed {
		t.Errorf("%d bytes fetched, want each chunk once, %d", raw.Bytes(), m.Groups()[0].Compressed)
	}
	from.verified = nil
	if _, err := d.DecodeRule(raw); err != nil {
		t.Fatal(err)
	}
	verified := footer.MergeSpans(from.verified)
	for i := range raw.rules {
		for _, k := range raw.rules[i].chunks {
			c := &raw.chunks[k]
			if !slices.ContainsFunc(verified, func(s shard.Span) bool { return s.Off <= c.pagesOff && c.pagesOff+c.pagesLen <= s.End() }) {
				t.Errorf("column %s is not verified", c.leaf.Path)
			}
		}
	}
	got, err := d.Decode(raw, Layout{})
	if err != nil {
		t.Fatal(err)
	}
	if allRows(got) != allRows(want) {
		t.Error("bytes that were verified are used again")
	}
	if v := footer.MergeSpans(from.verified); !slices.Equal(v, footer.MergeSpans(from.lent)) {
		t.Errorf("%v was lent, %v verified", from.lent, v)
	}
}

// A byte of a rule column that is not right is an error of DecodeRule.
func TestRuleDamageIsFound(t *testing.T) {
	file := wideFile(t, parquetgo.Compression(&parquetgo.Snappy), 20_000, 1)
	o := Options{Columns: []string{"image"}, RuleColumns: ruleColumns([]string{"text"}, true)}
	m, _, _ := lentRules(t, file, -1, o)
	c := fetch(t, m, Rows{Hi: 300}).chunks[1]
	for _, at := range []int64{c.pagesOff, c.pagesOff + c.pagesLen/2, c.pagesOff + c.pagesLen - 1} {
		m, _, d := lentRules(t, file, at, o)
		if _, err := d.DecodeRule(fetch(t, m, Rows{Hi: 300})); !errors.Is(err, shard.ErrCorrupt) {
			t.Errorf("byte %d is not right: %v", at, err)
		}
	}
}

// A rule column that the data does not have is an error of DecodeRule, and one that is corrupt
// names its page; the decoder works on afterwards.
func TestDecodeRuleFails(t *testing.T) {
	file := wideFile(t, parquetgo.Compression(&parquetgo.Snappy), 20_000, 1)
	m, d := openDecoder(t, file, Options{RuleColumns: ruleColumns([]string{"text", "nothing"}, true)})
	raw := fetch(t, m, Rows{Hi: 300})
	if _, err := d.DecodeRule(raw); err == nil || !strings.Contains(err.Error(), "rule column 1") {
		t.Errorf("got %v", err)
	}
	m, d = openDecoder(t, file, Options{RuleColumns: ruleColumns([]string{"text"}, true)})
	raw = fetch(t, m, Rows{Hi: 300})
	c := &raw.chunks[raw.rules[0].chunks[0]]
	c.pages = slices.Clone(c.pages)
	c.pages[len(c.pages)-9] ^= 0xff
	e := (*Error)(nil)
	if _, err := d.DecodeRule(raw); !errors.As(err, &e) || e.Column != "text" || e.Page < 0 {
		t.Errorf("got %v", err)
	}
	b, err := d.whole(fetch(t, m, Rows{Hi: 300}), Layout{})
	if err != nil {
		t.Fatal(err)
	}
	b.Release()
}
