package rowgroup

import (
	"context"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/estimate"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/image"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// UTF8Hint is the advice for text that is not UTF-8.
const UTF8Hint = block.UTF8Hint

// Names of package block, which has columns in memory and gathers picked rows of them.
type (
	// A Block is decoded columns of a unit or of one part of it.
	Block = block.Block
	// A Pick names one row of one block.
	Pick = block.Pick
	// A Gatherer copies picked rows into arrays.
	Gatherer = block.Gatherer
	// A Cast defines how the values of a column change.
	Cast = block.Cast
	// A Caster is a cast of the values of one field.
	Caster = block.Caster
	// A Matrix is columns side by side.
	Matrix = block.Matrix
	// A Member is a column of a matrix.
	Member = block.Member
	// Stacks are matrices that blocks have in place of columns.
	Stacks = block.Stacks
	// A Weight is the size of the picked values of a column in a batch.
	Weight = block.Weight
	// An Error names the shard, row group, column and page that could not be read.
	Error = block.Error
)

// A Table finds the columns of a table in shards that may name and number them in their own way.
type Table = schema.Table

// Names of package image, which has what a tier keeps of row groups.
type (
	// A Tier opens the file that keeps a shard's row groups decoded.
	Tier = image.Tier
	// A TierFile keeps images of row groups.
	TierFile = image.File
	// MappedImages are the images that a tier lends, each once for all users.
	MappedImages = image.Mapped
)

// Names of package schema, which gives the columns of files their meaning.
type (
	// Physical is parquet's physical type of a leaf.
	Physical = schema.Physical
	// A NeededType is the type that a user's options need of a column if the shards do not give it
	// a type.
	NeededType = schema.NeededType
)

// A Scratch is the memory that a decoder holds beside the block that it makes.
type Scratch = estimate.Scratch

// Names of package footer, which reads footers and keeps them.
type (
	// A Footer describes the footer of one shard.
	Footer = footer.Footer
	// A Listing makes lists of numbers of the values of a column; see [Decoder.List].
	Listing = block.Listing
	// A ListedColumn is a column that a Listing makes.
	ListedColumn = block.ListedColumn
	// A Leaf is one primitive column of a shard.
	Leaf = footer.Leaf
	// A Chunk is one column of one row group.
	Chunk = footer.Chunk
	// A Known footer is one that was read before, as [Manifest.Known] writes it.
	Known = footer.Known
	// Hot keeps footers and dictionaries in memory for all manifests that share it.
	Hot = footer.Hot
	// Events are called while Open runs, if set, one at a time.
	Events = footer.Events
)

var (
	// ErrFooterMended is in errors about a footer that was damaged when it was read first.
	ErrFooterMended = footer.ErrFooterMended
	// ErrMissingColumn is in errors about columns that some or all shards lack.
	ErrMissingColumn = schema.ErrMissingColumn
	// ErrMisfit is an error of Decode: a value of Layout.Stacks cannot be cast.
	ErrMisfit = block.ErrMisfit
	// ErrNotKept is a row group that the tier does not take.
	ErrNotKept = image.ErrNotKept
)

// MakePick returns the pick of a row of the block-th block of the table.
func MakePick(at, row int) Pick { return block.MakePick(at, row) }

// NewCaster returns the caster of values of a field.
func NewCaster(from *column.Field, c Cast) (*Caster, error) { return block.NewCaster(from, c) }

// CastWidth is the bytes of a value of a type of casts, or 0.
func CastWidth(t column.Type) int { return block.CastWidth(t) }

// NewStacks returns the matrices that are made as columns are decoded, or nil. used are the columns
// that blocks need anyway.
func NewStacks(s *column.Schema, matrices []*Matrix, used []bool) *Stacks {
	return block.NewStacks(s, matrices, used)
}

// Weigh adds up the values of a column of blocks, for errors: it looks at each of them.
func Weigh(col int, blocks []*Block, picks []Pick) Weight { return block.Weigh(col, blocks, picks) }

// RecodeParts maps the values of a Fixed or Binary column to another Fixed field, in the blocks of
// one unit.
func RecodeParts(blocks []*Block, col int, to *column.Field, m func(dst, value []byte) error) error {
	return block.RecodeParts(blocks, col, to, m)
}

// Guard runs f, which gathers from blocks that may be in images.
func Guard(ctx context.Context, blocks []*Block, f func() error) error {
	return block.Guard(ctx, blocks, f)
}

// Timestamps is the field with timestamps of 64 bits for those stored as INT96.
func Timestamps(f *column.Field) *column.Field { return block.Timestamps(f) }

// Tensors is the field with lists of lists for tensors that are stored as lists of all items.
func Tensors(f *column.Field) *column.Field { return block.Tensors(f) }

// MissingColumns returns the names and patterns of Options.Columns that match no column, if err is
// such an error of Open.
func MissingColumns(err error) []string { return schema.MissingColumns(err) }

// CheckPartitionType returns an error that lists the types of partitions if name is not one of
// them.
func CheckPartitionType(name string) error { return schema.CheckPartitionType(name) }

// NewHot returns a Hot that holds at most n bytes, or nil if n is 0. Its tables take a thousandth
// and half a MiB more.
func NewHot(n int64) *Hot { return footer.NewHot(n) }

// ParseKnown reads a block of footers of n shards, which alias it.
func ParseKnown(block []byte, n int) ([]Known, error) { return footer.ParseKnown(block, n) }
