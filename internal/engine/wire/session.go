package wire

import (
	"encoding/json"

	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Ask asks for the session of a rank.
type Ask struct {
	Rank      int  `json:"rank"`
	WorldSize int  `json:"world_size"`
	Stats     bool `json:"stats"`

	// Verdict asks only why the training loop waits.
	Verdict *VerdictAsk `json:"verdict"`

	Plan bool `json:"plan"` // Fingerprint and Steps, as an iteration at this world size would have them
	Window

	Replica     int `json:"replica"` // as in Join
	Replicas    int `json:"replicas"`
	Replication int `json:"replication"`

	// State asks about an iteration that would start with it, as in Join.
	State       *shuffle.State `json:"state"`
	StateSerial string         `json:"state_serial"`

	// Held asks which lanes this node holds of the order of Session.State. Nodes asks for seats:
	// they are all nodes, and what each holds of it.
	Held  bool       `json:"held"`
	Nodes []SeatNode `json:"nodes"`

	// Locate only asks for the places of rows, by their numbers in the list of shards.
	Locate []int64 `json:"locate"`

	// Refused only asks for the image of a file that the trainer's device refuses, as the engine
	// decodes it. A file that it cannot decode either is an ERROR under on_error "raise", and else
	// counts as a lost row.
	Refused *loader.RefusedImage `json:"refused"`

	// Manifest asks only for the list of shards.
	Manifest bool `json:"manifest"`

	// Inventory asks only for the data set's inventory, for other nodes. If it has at most
	// InventoryMost bytes, it is written to a file of this name beside the socket, which must not
	// exist. The trainer removes the file.
	Inventory     string `json:"inventory"`
	InventoryMost int64  `json:"inventory_most"`

	// Documents asks only for texts and their tokens, which are written to a file of this name
	// beside the socket as JSON, as Inventory is, unless they were compared with the tokens of
	// Library before. One client of a data set gets them.
	Documents string `json:"documents"`
	Library   string `json:"library"` // name and version

	// Audit only adds to the audit of an epoch.
	Audit *Audit `json:"audit"`

	// Latest only asks for the snapshot that the data set's table has now.
	Latest *Latest `json:"latest"`

	// AuditOf asks for the last verdict on a data set object by its number, with Stats.
	AuditOf int `json:"audit_of"`

	// Outputs reserves bytes of the stream's memory for results of the trainer's own workers,
	// beyond Joined.OutputBytes, instead of the last such number. null: it stays.
	Outputs *int64 `json:"outputs"`
}

// Latest asks for the name of a snapshot. All asks of one Name get the same answer.
type Latest struct {
	Name     string `json:"name"`     // of the epoch's start, on all ranks
	Snapshot string `json:"snapshot"` // a branch, or "" for the latest of the table
}

// Session describes the position of a session.
type Session struct {
	NextEpoch   int64           `json:"next_epoch"` // of an iteration that would start now
	Workers     int             `json:"workers"`    // torch workers of the last iteration
	Steps       int64           `json:"steps"`
	State       *shuffle.State  `json:"state"` // the start of an iteration now
	Fingerprint Fingerprint     `json:"fingerprint"`
	Stats       json.RawMessage `json:"stats"`    // figures by bench's keys
	Verdict     json.RawMessage `json:"verdict"`  // of Ask.Verdict: a verdict.Verdict
	Speaks      bool            `json:"speaks"`   // of Ask.Verdict: no lower rank of this machine reads the data
	Leads       bool            `json:"leads"`    // of Ask.Verdict: nor does one of VerdictAsk.Others
	Waits       json.RawMessage `json:"waits"`    // of Ask.Verdict: the verdict.Part of this machine
	Places      []Place         `json:"places"`   // of Ask.Locate
	Image       []byte          `json:"image"`    // of Ask.Refused; null if the row is lost
	Manifest    []byte          `json:"manifest"` // of Ask.Manifest: its JSON, compressed by zlib
	Held        []byte          `json:"held"`     // of Ask.Held: line lane i is bit i%8 of byte i/8; null if unknown
	Seats       []int           `json:"seats"`    // of Ask.Nodes, for Join.Seats; null if not needed

	Audit *Audited `json:"audit,omitempty"` // of Ask.Audit, or the last one, with Ask.Stats; null before the first
	Here  *Audit   `json:"here,omitempty"`  // of Ask.Audit: all ranks of this node, when the last of them came

	Inventory   int64  `json:"inventory"`    // bytes of Ask.Inventory; 0: it was not written
	NoInventory string `json:"no_inventory"` // why: InventoryLarge, or a text
	Documents   int64  `json:"documents"`    // bytes of Ask.Documents; 0: there is nothing to compare

	Latest string `json:"latest,omitempty"` // of Ask.Latest
}

// InventoryLarge reports that an inventory has more than Ask.InventoryMost bytes.
const InventoryLarge = "large"

// SeatNode is a node of a world and what it holds.
type SeatNode struct {
	Ranks []int  `json:"ranks"` // data ranks, each on one node
	Held  []byte `json:"held"`  // as in Session
}

// Place is the place of a row.
type Place struct {
	Path     string `json:"path"` // of the shard, without credentials
	RowGroup int    `json:"row_group"`
	Row      int64  `json:"row"` // in the row group
}
