package schema

import (
	"fmt"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

// Physical is parquet's physical type of a leaf.
type Physical = format.Type

// A Node ties a Field to the columns of one shard's file: where its levels count and which leaves
// hold its values. Each distinct file schema has one tree of nodes per projected column; files with
// equal schemas share it.
type Node struct {
	Field  *column.Field
	path   string        // dotted path in the file, for messages and projections
	id     int32         // field ID in the file, or 0
	inFile *column.Field // of the values in the file, where Field has the type of a table; else nil
	stored *Node         // as the file has it, where Children are parts of a table; else nil

	// Levels as the format counts them, from the root. def is the definition level at which this
	// node is present (not null); a Fixed, Binary or Struct node that is required has the def of
	// its parent. For List and Map, def is the level at which the list itself is present (maybe
	// empty), repDef the level at which it has an element, and rep the repetition level of its
	// elements. A bare repeated leaf or group is a List whose def is that of its parent.
	Def, RepDef, Rep int

	Leaf     *Leaf // Fixed, Binary, Null, and ConvertNull: the column of values; nil otherwise
	Children []*Node

	// missing: the file has no such column; every value is null. There are as many as the parent
	// has. Nodes below are not set.
	Missing bool
	// partition: the constant value of the column in this shard, set on nodes whose field is a
	// partition, and on fields that the file lacks and that have a default.
	Partition *PartitionValue
	// Given: each shard has a value of its own; see At. Missing is set too.
	Given *Given
	// Numbers: rows without a value in the file have numbers. They may have one if Leaf is set.
	Numbers *Numbers
	hidden  bool // the column is only read if it is named
}

// Absent reports whether the file has no values of the node.
func (n *Node) Absent() bool { return n.Missing || n.Partition != nil }

// PartitionValue is the value of a partition column, encoded as one value of its field.
type PartitionValue struct {
	Null bool
	Data []byte
}

// A Given is a column with one value in each shard, which its metadata gives.
type Given struct {
	values []PartitionValue // each once
	of     []int32          // by shard: its value
	nodes  []*Node          // by value, of a bound column
}

// A Leaf is one primitive column of a file as its footer describes it.
type Leaf struct {
	Index          int    // position among the file's leaves
	Path           string // dotted path in the file, for messages
	Type           Physical
	TypeLength     int // FIXED_LEN_BYTE_ARRAY
	MaxDef, MaxRep int
	Convert        Convert // how stored values become Field values
	Recast         *recast // of ConvertRecast
}

// Readable returns an error if the leaf is nested too deeply to be decoded.
func (l *Leaf) Readable() error {
	if l.MaxDef > parquet.MaxLevel {
		return fmt.Errorf("it is nested too deeply: it has %d levels of lists and nullable members, at most %d can be read", l.MaxDef, parquet.MaxLevel)
	}
	return nil
}

// A Convert selects how a stored value becomes the Field's value.
type Convert uint8

const (
	ConvertNone       Convert = iota // stored as the Field wants it
	ConvertNarrow                    // INT32 to 1 or 2 bytes
	ConvertWidenInt                  // INT32 to 8 bytes, signed
	ConvertWidenUint                 // INT32 to 8 bytes, unsigned
	ConvertWidenFloat                // FLOAT to DOUBLE
	ConvertDecimal                   // INT32, INT64, FIXED_LEN_BYTE_ARRAY or BYTE_ARRAY decimal to the Field's width, or to Binary beyond 76 digits
	ConvertRecast                    // to the type that the column has in the data set, and not in the file; see recast

	// ConvertNull: every value is null whatever the node's kind, and the levels determine their
	// number; values in the pages, if any, are ignored, and the node has no children. It is used if
	// a shard has a column annotated UNKNOWN that has a type in others, and if a struct's wanted
	// members are all missing in a shard, so that some leaf must mark which structs are null.
	ConvertNull
)
