package wire

import (
	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/internal/option"
)

// Open describes the data to read. Connections with the same Spec and Opening share one open data
// set.
type Open struct {
	// Opening makes a difference where the shards must be listed again although another trainer has
	// the same Spec open. It is the same on all ranks, and for everything that belongs to one data
	// set object.
	Opening string `json:"opening"`

	Dataset string `json:"dataset"` // identity of the trainer's data set object; the same in its torch workers and iterators
	Spec    Spec   `json:"spec"`

	// Inventory names a file beside the socket that holds the inventory of another node. The data
	// set is opened with it, which lists nothing and reads no footers. Where another trainer has
	// the same data set open, or the file is gone, it makes no difference. The engine removes the
	// file when the data set closes.
	Inventory string `json:"inventory"`

	// Counts names a directory beside the socket, for counts that nodes share; this one is
	// CountNumber of CountOf nodes.
	Counts      string `json:"counts"`
	CountNumber int    `json:"count_number"`
	CountOf     int    `json:"count_of"`
}

func (o Open) Validate() error {
	if o.Dataset == "" {
		return ProtocolError("OPEN without the identity of a data set")
	}
	if o.Counts != "" && (o.CountNumber < 0 || o.CountNumber >= o.CountOf) {
		return ProtocolError("OPEN as node %d of %d that count", o.CountNumber, o.CountOf)
	}
	if err := o.Spec.Validate(); err != nil {
		return ValueError("%s", option.Spelled(err, option.Argument))
	}
	return nil
}

// Spec is the data set that a trainer opens.
type Spec = shardfeed.Spec

// Progress reports how far opening is.
type Progress struct {
	Shards  int64  `json:"shards"`  // listed
	Footers int64  `json:"footers"` // read
	Counted int64  `json:"counted"` // row groups whose rows that are read are known
	Of      int64  `json:"of"`      // footers to read, or row groups to count; 0: not known yet
	Doing   string `json:"doing"`   // "list", "footers", "rows", "memory" or "first batch"
}

// Opened describes the data set.
type Opened struct {
	Rows     int64   `json:"rows"`     // that are read in an epoch, each as often as it comes
	AllRows  int64   `json:"all_rows"` // of the shards
	Samples  []int64 `json:"samples"`  // of each source; a plain data set is one
	Buffer   int64   `json:"buffer"`   // rows of the shuffle buffer, if it is given in bytes over all ranks, else 0
	Shards   int     `json:"shards"`
	Groups   int     `json:"row_groups"`
	Schema   []Node  `json:"schema"`
	Manifest string  `json:"manifest"` // content hash
	Versions string  `json:"versions"` // versions hash
	Now      string  `json:"now"`      // that filters take today() and now() from, or ""

	// Images has for each column of images why a device cannot decode its JPEGs, or "" if it can.
	Images map[string]string `json:"images,omitempty"`

	// Warnings about the data, for the user.
	Warnings []string `json:"warnings"`
	// Files are notes for the user about the files at the addresses, left out or named twice.
	Files []string `json:"files"`
	// Info are notes for the user about how the data is read.
	Info []string `json:"info"`
}
