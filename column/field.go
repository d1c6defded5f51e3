package column

// Kind is the memory layout of a node of a column.
type Kind uint8

const (
	Fixed  Kind = iota // Width bytes a value
	Binary             // offsets and bytes
	List               // offsets and one child
	Struct             // one child per member
	Map                // offsets and one Struct child of two members, key and value
	Null               // no storage: every value is null
)

// Type is the meaning of a node's values.
type Type uint8

const (
	TypeNone        Type = iota // List, Struct, Map
	TypeUnknown                 // Null
	TypeBool                    // Fixed 1: 0 or 1, one byte a value
	TypeInt8                    // Fixed 1
	TypeInt16                   // Fixed 2
	TypeInt32                   // Fixed 4
	TypeInt64                   // Fixed 8
	TypeUint8                   // Fixed 1
	TypeUint16                  // Fixed 2
	TypeUint32                  // Fixed 4
	TypeUint64                  // Fixed 8
	TypeFloat16                 // Fixed 2
	TypeFloat32                 // Fixed 4
	TypeFloat64                 // Fixed 8
	TypeDecimal                 // Fixed 8, 16 or 32 by precision <= 18, 38, 76: little-endian two's complement; Binary, big-endian, beyond
	TypeDate                    // Fixed 4: days since 1970-01-01
	TypeTime                    // Fixed 8: Unit since midnight
	TypeTimestamp               // Fixed 8: Unit since 1970-01-01T00:00:00
	TypeInt96                   // Fixed 12: nanoseconds of the day (8 bytes), Julian day (4 bytes), as stored; batches have timestamps
	TypeInterval                // Fixed 12: months, days, milliseconds, three uint32, as stored
	TypeUUID                    // Fixed 16
	TypeFixedBinary             // Fixed Width
	TypeBinary                  // Binary
	TypeString                  // Binary, UTF-8
	TypeEnum                    // Binary, UTF-8
	TypeJSON                    // Binary, UTF-8
	TypeBSON                    // Binary
	TypeBFloat16                // Fixed 2: the upper half of a float32; no shard has it
)

// Unit is the unit of a time or timestamp.
type Unit uint8

const (
	Milli Unit = iota
	Micro
	Nano
)

// A Field is one node of a schema: a column, or a part of one. Fields are immutable once a manifest
// is open.
type Field struct {
	Name     string
	Kind     Kind
	Type     Type
	Width    int // bytes of a Fixed value
	Nullable bool

	Unit             Unit // TypeTime, TypeTimestamp; TypeInt96: of the timestamps that batches have
	UTC              bool // TypeTime, TypeTimestamp, TypeInt96: adjusted to UTC
	Precision, Scale int  // TypeDecimal

	// ListSize is the length that every list of this List node has, when the writer declared it
	// fixed; 0 when lists are ragged.
	ListSize int

	// Tensor is the shape of the values of a List, when the writer declared one; nil for other
	// lists.
	Tensor *Tensor

	// Encoding is how the values of a Binary column are encoded, when a schema in the shards or
	// beside them declares it; nil for other columns.
	Encoding *Encoding

	// Labels are the names of the values of a column of integers, from 0 on, when the writer
	// declared them: the classes of Hugging Face's ClassLabel.
	Labels []string

	// Partition marks a column whose value comes from the shard's directories, not from its pages.
	Partition bool

	// Made marks a column whose values the reader makes, as row ids, and no shard holds.
	Made bool

	// Joined marks a column that has no rows in the batch: the items of all its lists are one
	// array, and its values are all the same number.
	Joined bool

	// Features names the items of a matrix that was stacked of other columns, by their places: a
	// List with a ListSize. An item of a list is "embedding[2]".
	Features []string

	Children []*Field
}

// A Schema is the columns of a data set in order. Names may repeat.
type Schema struct {
	Fields []*Field
}
