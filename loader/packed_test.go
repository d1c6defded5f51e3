package loader

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
)

// packedSchema has blocks of 6 tokens.
func packedSchema(more ...*column.Field) *column.Schema {
	tokens := listed("tokens", 6, int32s("tokens"))
	lengths := listed(rowgroup.LengthsColumn, 0, int32s(rowgroup.LengthsColumn))
	lengths.Made = true
	return &column.Schema{Fields: append(append([]*column.Field{tokens}, more...), lengths)}
}

const (
	packedTokens  = `[[1,2,3,4,5,0],[6,7,8,9,10,11],[12,0,0,0,0,0]]`
	packedLengths = `[[2,3],[6],[1]]`
)

// derived adds the columns of packed batches to a batch of three blocks.
func derived(t *testing.T, p Packed, s *column.Schema, rows ...string) *Batch {
	t.Helper()
	d, err := bindPacked(p, s)
	if err != nil {
		t.Fatal(err)
	}
	var columns []*column.Array
	for i, f := range s.Fields {
		columns = append(columns, build(t, f, rows[i]))
	}
	b := batchOf(columns...)
	lengths, tokens := d.sources(b)
	if err := d.derive(b, lengths, tokens); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPackedColumns(t *testing.T) {
	labels := listed("labels", 6, fixed("labels", column.TypeInt64, 8))
	for _, c := range []struct {
		name   string
		packed Packed
		more   []*column.Field
		rows   []string
		column string
		want   string
	}{
		{"positions", Packed{With: []string{PositionIDs}}, nil, nil, PositionIDs, `[[0,1,0,1,2,0],[0,1,2,3,4,5],[0,0,1,2,3,4]]`},
		{"documents", Packed{With: []string{DocIDs}}, nil, nil, DocIDs, `[[0,0,1,1,1,-1],[0,0,0,0,0,0],[0,-1,-1,-1,-1,-1]]`},
		{"lengths", Packed{With: []string{SeqLengths}}, nil, nil, SeqLengths, packedLengths},
		{"edges", Packed{With: []string{CuSeqlens}}, nil, nil, CuSeqlens, `[[0,2,5,6],[12],[13,18]]`},
		{"longest", Packed{With: []string{MaxSeqlen}}, nil, nil, MaxSeqlen, `[6,6,6]`},
		{"labels", Packed{Labels: LabelsSame}, nil, nil, "labels", `[[-100,2,-100,4,5,-100],[-100,7,8,9,10,11],[-100,-100,-100,-100,-100,-100]]`},
		{"next labels", Packed{Labels: LabelsNext}, nil, nil, "labels", `[[2,-100,4,5,-100,-100],[7,8,9,10,11,-100],[-100,-100,-100,-100,-100,-100]]`},
		{
			"labels of the data",
			Packed{Labels: LabelsNext},
			[]*column.Field{labels},
			[]string{`[[1,-100,3,4,5,-100],[6,7,8,9,10,11],[12,-100,-100,-100,-100,-100]]`},
			"labels",
			`[[-100,-100,4,5,-100,-100],[7,8,9,10,11,-100],[-100,-100,-100,-100,-100,-100]]`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows := append(append([]string{packedTokens}, c.rows...), packedLengths)
			b := derived(t, c.packed, packedSchema(c.more...), rows...)
			a, err := b.Column(c.column)
			if err != nil {
				t.Fatal(err)
			}
			if got := show(a); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if want := 2; len(b.Columns) != want {
				t.Errorf("%d columns, want %d: %v", len(b.Columns), want, b)
			}
		})
	}
}

// The values of all rows' cu_seqlens are one array, as kernels take it.
func TestCuSeqlensAreOneArray(t *testing.T) {
	b := derived(t, Packed{With: []string{CuSeqlens, MaxSeqlen, SeqLengths}}, packedSchema(), packedTokens, packedLengths)
	a, err := b.Column(CuSeqlens)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show(a.Children[0]), "[0,2,5,6,12,13,18]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Labels are tokens of any integer type.
func TestLabelsOfAllTypes(t *testing.T) {
	for _, c := range []struct {
		kind  column.Type
		width int
		token string
	}{
		{column.TypeInt8, 1, "-7"},
		{column.TypeInt16, 2, "-300"},
		{column.TypeInt32, 4, "-70000"},
		{column.TypeInt64, 8, "-5000000000"},
		{column.TypeUint8, 1, "200"},
		{column.TypeUint16, 2, "60000"},
		{column.TypeUint32, 4, "4000000000"},
		{column.TypeUint64, 8, "5000000000"},
	} {
		t.Run(c.kind.String(), func(t *testing.T) {
			s := packedSchema()
			s.Fields[0] = listed("tokens", 2, fixed("tokens", c.kind, c.width))
			a, err := derived(t, Packed{Labels: LabelsSame}, s, "[[1,"+c.token+"]]", "[[2]]").Column("labels")
			if err != nil {
				t.Fatal(err)
			}
			if got, want := show(a), "[[-100,"+c.token+"]]"; got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// The longest sequence may be a padding.
func TestMaxSeqlenOfPadding(t *testing.T) {
	b := derived(t, Packed{With: []string{MaxSeqlen}}, packedSchema(), packedTokens, `[[2],[3,2],[1]]`)
	a, err := b.Column(MaxSeqlen)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show(a), `[5,5,5]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestPackedRefuses(t *testing.T) {
	labels := fixed("labels", column.TypeInt64, 8)
	for _, c := range []struct {
		name   string
		packed Packed
		schema *column.Schema
		want   string
	}{
		{"rows", Packed{With: []string{DocIDs}}, &column.Schema{Fields: []*column.Field{int32s("a")}}, "Packed needs a data set with Pack"},
		{"taken", Packed{With: []string{DocIDs}}, packedSchema(listed("doc_ids", 0, int32s("doc_ids"))), `Packed adds a column "doc_ids", and the data has one; leave it out of Columns`},
		{"labels of what", Packed{Labels: LabelsSame}, packedSchema(listed("mask", 6, int32s("mask"))), `Packed makes labels of one packed column, and there are ["tokens" "mask"]; leave the others out of Columns`},
		{"labels that are no tokens", Packed{Labels: LabelsSame}, packedSchema(listed("labels", 0, labels)), `the column "labels" is list<int64>; leave it out`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := bindPacked(c.packed, c.schema); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	err := Options{Packed: Packed{With: []string{"mask"}, Labels: "shifted"}}.Validate()
	var wrong *iterable.OptionError
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), `Packed.With[0] must be one of position_ids, doc_ids, seq_lengths, cu_seqlens, max_seqlen, each once, got "mask"`) ||
		!strings.Contains(err.Error(), `Packed.Labels must be same or next, got "shifted"`) {
		t.Errorf("error %v", err)
	}
}

// The memory of packed batches is foretold with the columns that are made.
func TestPackedBatchesAreForetold(t *testing.T) {
	ds := openShop(t, iterable.Options{Reading: iterable.Reading{Columns: []string{"token_ids"}}, Pack: &iterable.Pack{Pack: rule.Pack{Columns: map[string]int{"token_ids": 128}}}})
	plain := BatchBytes(ds, Options{BatchSize: 100})
	made := BatchBytes(ds, Options{BatchSize: 100, Packed: Packed{With: PackedColumns(), Labels: LabelsSame}})
	if want := int64(100*128*(4+4+8)) * 9 / 8; made-plain != want {
		t.Errorf("%d bytes more, want %d", made-plain, want)
	}
}
