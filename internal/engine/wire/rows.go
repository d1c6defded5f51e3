package wire

// Select writes a list of the rows that a function of the trainer has chosen.
type Select struct {
	Bits string `json:"bits"` // a file: row i of the data set, in file order, is bit i%8 of byte i/8
	Save string `json:"save"` // the file that the list is written to
}

// Selected describes the list.
type Selected struct {
	Rows    int64 `json:"rows"`     // that are chosen
	AllRows int64 `json:"all_rows"` // of the shards
}

// Map asks for rows by number, and for the places of some. Epoch seeds the random crops of images
// in later TAKEs; null keeps it, and the first is 0.
type Map struct {
	Locate []int64 `json:"locate"`
	Epoch  *int64  `json:"epoch"`

	ImageCPUShare *float64 `json:"image_cpu_share,omitempty"` // as in Join
}

func (m Map) Validate() error { return checkShare(m.ImageCPUShare) }

// Mapped describes the rows that have numbers, 0 to Rows-1.
type Mapped struct {
	Rows    int64   `json:"rows"`
	Memory  int64   `json:"memory"`  // bytes that decoded rows may take, for all clients together
	Decoded int64   `json:"decoded"` // bytes of all rows, estimated from the files' metadata
	Schema  []Node  `json:"schema"`  // of the batches
	Places  []Place `json:"places"`  // of Map.Locate
}
