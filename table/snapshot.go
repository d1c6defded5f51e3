package table

import (
	"context"
	"fmt"
	"time"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/shard"
)

// A Snapshot is the content of a table at one commit.
type Snapshot struct {
	Format string    // "Delta", "Iceberg" or "Hive"
	Table  string    // the UUID of the table, which copies of it share
	Name   string    // of the snapshot in its format: "9" is a version of Delta, or an ID
	Asked  string    // Options.Snapshot that led to it
	Time   time.Time // of the commit
	Fields []Field   // the columns, in order
	Files  []File    // in the order of their URIs

	Unreadable []Unreadable // columns that Fields lacks, since they have types that cannot be read
}

// An Unreadable is a column of a type that cannot be read, or with such a part.
type Unreadable struct {
	Column string `json:"column"` // of the top level
	Type   string `json:"type"`   // in the words of the format
	Part   string `json:"part"`   // the path of the part that has the type
}

func (u Unreadable) String() string {
	return fmt.Sprintf("column %q has the type %q, which cannot be read", u.Part, u.Type)
}

// A Field is a column of a table, or a part of one, and how files name it.
type Field struct {
	Column *column.Field // with the name and type that the table gives it and its parts

	// ID, unless 0, finds the field in files whose schema has field IDs. In other files, or with ID
	// 0, the first of Names that a file has finds it.
	ID    int32
	Names []string

	// AnyCase lets a name find a column whose name differs in case, if no name is a column's own.
	AnyCase bool

	// Default is the value in files that lack the field; nil reads nulls. A file that lacks a
	// required field without a default is refused.
	Default *Value

	// RowIDs gives a row without a value in its file an ID: File.FirstRow plus the number of rows,
	// deleted or not, before it in the file. The column is only read if its name is given.
	RowIDs bool `json:",omitempty"`

	Parts []Field // one for each child of Column
}

// A Value is one value of a field, which is Fixed or Binary.
type Value struct {
	Data []byte // as an array of the field has it
	Null bool
}

// A File is a parquet file of a snapshot.
type File struct {
	Shard     shard.Shard // with a version if the metadata has one
	Rows      int64       // with the deleted ones; -1 is unknown
	FirstRow  int64       // ID of the first row, for a field of RowIDs; -1 if rows have no ID
	Constants []Constant
	Deleted   Rows
	DeletedBy [Deletions]int64 // rows of Deleted, by [Deletion]; zeros if a pin lacks them
}

// A Constant is the value of a column in all rows of a file, such as the value of a partition.
type Constant struct {
	Field int // index in the fields of the snapshot
	Value Value
}

// A Scan reads columns of the top level of one parquet file, by fields of which only ID, Names and
// Parts count. A field without Parts is read whole; else a struct has only the listed parts. The
// one part of a list is its item, and a map has a struct of key and value.
//
// It calls each with consecutive rows, from number first on, and arrays in the order of the fields;
// an array is nil if the file lacks its column. The Children of a struct's array are in the order
// of Parts, and nil too if the file lacks them; their Fields have the types of the file, and no
// names. Arrays are valid until each returns.
type Scan func(ctx context.Context, s shard.Shard, fields []Field, each func(first int64, columns []*column.Array) error) error

// Formats opens tables of the formats that a program has.
type Formats interface {
	// Open returns a snapshot of the table at an address that [IsTable].
	Open(ctx context.Context, address string, o Options) (*Snapshot, error)
	// History returns the snapshots of a table, the oldest first.
	History(ctx context.Context, address string, o Options) ([]Version, error)
}

// Options of opening a table.
type Options struct {
	Store    shard.Store
	Scan     Scan
	Snapshot string // a version, ID, tag, branch or time (RFC 3339); "" is the latest
	Parallel int    // requests at a time; at least 1
	NameOnly bool   // the result has only Format and Name, which takes fewer requests
	Keeper   Keeper // may be nil
}

// A Version is a snapshot in the history of a table.
type Version struct {
	Name      string
	Time      time.Time
	Operation string   // what made it, in the words of the format
	Refs      []string // the tags and branches at it
}
