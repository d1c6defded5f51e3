package wire

import (
	"encoding/json"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/audit"
	"github.com/shardfeed/shardfeed/internal/loads"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Version of the protocol. A trainer and an engine of different versions do not talk.
const Version = 1

// Hello describes the trainer.
type Hello struct {
	Version int    `json:"version"`
	Build   string `json:"build"` // of the trainer's package
	Job     string `json:"job"`
	PID     int    `json:"pid"`

	LocalWorldSize int `json:"local_world_size"` // ranks of the job on this node; 0 is not known
}

func (h Hello) Validate() error {
	if h.PID < 0 || h.LocalWorldSize < 0 {
		return ProtocolError("HELLO: pid %d, local_world_size %d", h.PID, h.LocalWorldSize)
	}
	return nil
}

// Welcome describes the engine.
type Welcome struct {
	Version int    `json:"version"`
	Build   string `json:"build"`
	PID     int    `json:"pid"`
	ID      string `json:"id"`  // of only this engine, on any machine
	Log     string `json:"log"` // the engine's log file
}

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

	// Warnings about the data, for the user.
	Warnings []string `json:"warnings"`
	// Files are notes for the user about the files at the addresses, left out or named twice.
	Files []string `json:"files"`
	// Info are notes for the user about how the data is read.
	Info []string `json:"info"`
}

// Node is a node of a schema: a column, or a part of one.
type Node struct {
	Name      string   `json:"name"`
	Kind      string   `json:"kind"` // fixed, binary, list, struct, map or null
	Type      string   `json:"type"` // as the command prints it: int32, float16, string, timestamp, decimal, ...
	Width     int      `json:"width"`
	Nullable  bool     `json:"nullable"`
	Unit      string   `json:"unit"` // s, ms, us or ns of times and timestamps
	UTC       bool     `json:"utc"`
	Extension string   `json:"extension,omitempty"` // the name of Arrow's extension type that the file has
	Precision int      `json:"precision"`
	Scale     int      `json:"scale"`
	ListSize  int      `json:"list_size"` // of lists that the writer declared fixed; -1: dense, with a length per batch
	Partition bool     `json:"partition"`
	Added     bool     `json:"added"`              // not of the data: lengths of a padded column, ids and seeds of rows
	Joined    bool     `json:"joined,omitempty"`   // one array, or one number, of the batch; see column.Field
	Features  []string `json:"features,omitempty"` // of a matrix: the columns that it was stacked of
	Labels    []string `json:"labels,omitempty"`   // names of the values, from 0 on
	Children  []Node   `json:"children"`
}

// Join starts an iteration or takes part in one. An iteration is one epoch, or the rest of one
// after a state.
type Join struct {
	Iteration string `json:"iteration"` // the same for all workers of one torch DataLoader iterator, and only for them
	Worker    int    `json:"worker"`
	Workers   int    `json:"workers"` // 0 or 1: no torch workers

	Rank      int `json:"rank"`
	WorldSize int `json:"world_size"`
	Window

	// Replica is one of Replicas trainers of this machine that read the batches of the rank; 0 of
	// these is 1. Rank and WorldSize count data ranks, each of which Replication ranks claim over
	// all machines.
	Replica     int `json:"replica"`
	Replicas    int `json:"replicas"`
	Replication int `json:"replication"`

	// Seats are the place of each line lane, as in Session.Seats, the same on all ranks. null and
	// []: lanes have their places in the order.
	Seats []int `json:"seats"`

	// State decides the epoch if it was not used yet, else Epoch if it was not used yet, else the
	// session continues after its last iteration. The serials show whether they were used.
	State       *shuffle.State `json:"state"`
	StateSerial string         `json:"state_serial"`
	Epoch       *int64         `json:"epoch"`
	EpochSerial string         `json:"epoch_serial"`

	// Next is the position of the next step of a torch worker that resumes within an epoch. null:
	// the position of State or 0, and Worker steps more.
	Next *int64 `json:"next"`

	// Bundle allows that many steps in one batch, for trainers of single rows. The engine uses it
	// if the rows of the batch equal the rows of the steps in their order; see Joined. 0 and 1:
	// each step is a batch.
	Bundle int `json:"bundle"`

	// Outputs is how many batches the trainer's own workers hold results of, in memory of the
	// trainer's. As many batches of the stream's are reserved for them.
	Outputs int `json:"outputs"`

	// ImageCPUShare leaves all but this share of the JPEGs to a device of the trainer's, and the
	// batches have the form of loader.ImageSplit where columns allow it. null: all images are
	// tensors. Of replicas and workers the first one decides. An iteration reads on where the one
	// before has read ahead if it has the same share.
	ImageCPUShare *float64 `json:"image_cpu_share,omitempty"`

	// Agree names the data set among the ranks. Ranks of a job that join with the same name must
	// have the same fingerprint. Empty: they are not compared.
	Agree string `json:"agree"`
}

// Share sets the share of the JPEGs that the engine decodes, in batches that it has not begun. It
// counts of the participant whose Join decides.
type Share struct {
	ImageCPUShare float64 `json:"image_cpu_share"`
}

func (s Share) Validate() error { return checkShare(&s.ImageCPUShare) }

// checkShare checks a share of images.
func checkShare(share *float64) error {
	if share != nil && !(*share >= 0 && *share <= 1) {
		return ValueError("image_cpu_share must be from 0 to 1, got %v", *share)
	}
	return nil
}

func (j Join) Validate() error { return checkShare(j.ImageCPUShare) }

func (j Join) ReplicaCount() int { return max(1, j.Replicas) }

// place is the place of the participant in its iteration.
func (j Join) Place() int { return j.Worker*j.ReplicaCount() + j.Replica }

// A Window limits each epoch to some of its steps: it leaves out the first Skip, and has at most
// Take. Take 0 has no limit.
type Window struct {
	Skip int64 `json:"skip,omitempty"`
	Take int64 `json:"take,omitempty"`
}

// Joined describes the iteration that starts.
type Joined struct {
	Epoch       int64         `json:"epoch"`
	State       shuffle.State `json:"state"`        // the start of the iteration
	Next        NextEpoch     `json:"next"`         // where the session continues after it
	Steps       int64         `json:"steps"`        // of a whole epoch, on each rank
	Bundle      int           `json:"bundle"`       // steps in one batch; the last batch has all rows that are left
	Fingerprint Fingerprint   `json:"fingerprint"`  // what all ranks must have in common
	Schema      []Node        `json:"schema"`       // of the batches
	OutputBytes int64         `json:"output_bytes"` // reserved for Join.Outputs
	Warnings    []string      `json:"warnings"`     // about the order, for the user; to rank 0, at the start of training
	Span        Span          `json:"span"`
}

// Span is the positions of an iteration, for the audit of its epoch. Under the tail carry From may
// be below 0, and To beyond the epoch.
type Span struct {
	Begin int64 `json:"begin"` // of the epoch's first step
	From  int64 `json:"from"`  // of the iteration's first step
	To    int64 `json:"to"`    // after its last
}

// Audit asks to compare an epoch that ranks have handed out with its order, once all ranks have.
type Audit struct {
	Object  int            `json:"object"` // number of the data set object among the objects of one Opening
	Epoch   uint64         `json:"epoch"`
	Begin   int64          `json:"begin"`
	To      int64          `json:"to"`
	State   shuffle.State  `json:"state"` // of the order, at any position
	Ranks   []int          `json:"ranks"` // whose records these are
	Records []audit.Record `json:"records"`
}

// Audited is the verdict on an epoch as far as ranks have come to its end. Text is one line.
type Audited struct {
	Epoch   uint64   `json:"epoch"`
	Ranks   int      `json:"ranks"`    // that have come to the end
	Of      int      `json:"of_ranks"` // of the world
	Proved  bool     `json:"proved"`
	Rows    int64    `json:"rows"` // that each came exactly once, if there are no faults
	Lost    int64    `json:"lost"`
	Padded  int64    `json:"padded"`
	Worlds  []int    `json:"worlds"`
	Faults  []string `json:"faults"`
	NotSeen []string `json:"not_seen"`
	Text    string   `json:"text"`
}

// NextEpoch is the start of the session's next iteration. A trainer whose engine has ended passes
// Joined.State with these to the next engine in its JOIN, so that the epochs keep their order.
type NextEpoch struct {
	Epoch    uint64 `json:"epoch"`
	Position int64  `json:"position"`
}

// Fingerprint is everything that ranks must have in common, by its name for the user. Values are
// short texts.
type Fingerprint map[string]string

// End reports how an iteration ended.
type End struct {
	Left    bool          `json:"left"`    // by LEAVE
	Batches int64         `json:"batches"` // that this consumer got
	State   shuffle.State `json:"state"`   // after the iteration's last batch
}

// SetEpoch sets the epoch of the session's next iteration.
type SetEpoch struct {
	Rank   int    `json:"rank"`
	Epoch  int64  `json:"epoch"`
	Serial string `json:"serial"`
}

// Waited is how long a training loop waited since its last message of this kind.
type Waited struct {
	Rank int `json:"rank"`
	wait.Report
}

// Held explains what holds up the batch that a trainer waits for.
type Held struct {
	Marks [][2]int64 `json:"marks"` // a cause of package wait, and until when it did, by the clock of all processes
}

// HeldBy returns the message of a trail.
func HeldBy(marks []wait.Mark) (h Held) {
	for _, m := range marks {
		h.Marks = append(h.Marks, [2]int64{int64(m.Cause), m.End})
	}
	return h
}

func (w Waited) Validate() error {
	if w.Rank < 0 || !(w.Seconds >= 0) || !(w.Of >= 0) {
		return ProtocolError("WAITED: rank %d, %v s of %v s", w.Rank, w.Seconds, w.Of)
	}
	for cause, s := range w.Parts {
		if _, ok := wait.CauseOf(cause); !ok || !(s >= 0) {
			return ProtocolError("WAITED: %v s for %q", s, cause)
		}
	}
	if n := w.Now; n != nil {
		if _, ok := wait.CauseOf(n.Cause); !ok || !(n.Seconds >= 0) {
			return ProtocolError("WAITED: in next() for %v s for %q", n.Seconds, n.Cause)
		}
	}
	return nil
}

// Trace asks for the loads of a rank since the last such message of the connection. The first one
// starts to record them, until the connection ends.
type Trace struct {
	Dataset string `json:"dataset"` // as in Open
	Rank    int    `json:"rank"`
}

func (t Trace) Validate() error {
	if t.Dataset == "" || t.Rank < 0 {
		return ProtocolError("TRACE: data set %q, rank %d", t.Dataset, t.Rank)
	}
	return nil
}

// Events are the answer. Addresses have no secrets.
type Events struct {
	Loads  []loads.Load `json:"loads"`
	Missed uint64       `json:"missed"` // loads of any rank, which were too many
}

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

	// Manifest asks only for the list of shards.
	Manifest bool `json:"manifest"`

	// Inventory asks only for the data set's inventory, for other nodes. If it has at most
	// InventoryMost bytes, it is written to a file of this name beside the socket, which must not
	// exist. The trainer removes the file.
	Inventory     string `json:"inventory"`
	InventoryMost int64  `json:"inventory_most"`

	// Documents asks only for texts and their tokens, which are written to a file of this name beside
	// the socket as JSON, as Inventory is, unless they were compared with the tokens of Library before.
	// One client of a data set gets them.
	Documents string `json:"documents"`
	Library   string `json:"library"` // name and version

	// Audit only adds to the audit of an epoch.
	Audit *Audit `json:"audit"`

	// Latest only asks for the snapshot that the data set's table has now.
	Latest *Latest `json:"latest"`

	// AuditOf asks for the last verdict on a data set object by its number, with Stats.
	AuditOf int `json:"audit_of"`

	// Outputs reserves bytes of the stream's memory for results of the trainer's own workers, beyond
	// Joined.OutputBytes, instead of the last such number. null: it stays.
	Outputs *int64 `json:"outputs"`
}

// Latest asks for the name of a snapshot. All asks of one Name get the same answer.
type Latest struct {
	Name     string `json:"name"`     // of the epoch's start, on all ranks
	Snapshot string `json:"snapshot"` // a branch, or "" for the latest of the table
}

// VerdictAsk asks why a training loop waits, with the figures that only its trainer has.
type VerdictAsk struct {
	Seconds float64      `json:"seconds"` // the recent past of the loop; 0 is since its iteration began
	Waited  *wait.Report `json:"waited"`  // what came since the last WAITED
	Told    float64      `json:"told"`    // seconds of the loop in all WAITED, on any connection, and here
	Workers int          `json:"workers"` // that run map and collate_fn
	Pinned  bool         `json:"pinned"`

	// Others are Session.Waits of other machines, whose ranks are compared too.
	Others []json.RawMessage `json:"others"`
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

// Meet is a rank's contribution to a meeting of its job, and its request. On each machine one
// waiting rank carries the contributions of all to the job's store, and the store's values to them.
type Meet struct {
	Name    string            `json:"name"`    // of the meeting; the same in all messages of a connection
	Values  map[string]string `json:"values"`  // to be carried to the store
	Found   map[string]string `json:"found"`   // in the store, for the other ranks
	Wants   string            `json:"wants"`   // a key of the store whose value the rank waits for, or empty
	Carried int               `json:"carried"` // values up to this Met.Count are in the store
	Waits   bool              `json:"waits"`   // the rank can carry, and sends MEET again soon

	// Patience is how many milliseconds the answer to a rank that waits may take while there is no
	// news: what it wants was not found, and it does not carry.
	Patience int `json:"patience"`
}

// Met describes the state of a meeting.
type Met struct {
	Carries bool              `json:"carries"` // this rank does
	Values  map[string]string `json:"values"`  // that it has to carry
	Wanted  []string          `json:"wanted"`  // keys that it has to look for, until they are found
	Count   int               `json:"count"`   // of values that were given, with these
	Members int               `json:"members"` // ranks of this machine that have come
	Found   map[string]string `json:"found"`
}

// Failure is an error of the engine.
type Failure struct {
	Kind     string   `json:"kind"` // see the Kind constants
	Text     string   `json:"text"` // whole, as the command would print it
	Op       string   `json:"op"`
	Shard    string   `json:"shard"`
	RowGroup int      `json:"row_group"` // or -1
	Column   string   `json:"column"`
	Hint     string   `json:"hint"`
	Step     int64    `json:"step"` // or -1
	Details  []string `json:"details"`
}

// Kinds of Failure: what Python raises. Values are part of the protocol.
const (
	KindValue    = "value"    // an option that is out of range: ValueError
	KindNotFound = "notfound" // FileNotFoundError
	KindAccess   = "access"   // PermissionError
	KindData     = "data"     // a shard that cannot be read or was changed: DataError
	KindSchema   = "schema"   // a column that is not there, shards that do not fit together: SchemaError
	KindMemory   = "memory"   // a stream that does not fit its memory: MemoryLimitError
	KindState    = "state"    // a state or plan that does not fit the data: StateError
	KindStorage  = "storage"  // a server or disk that failed: StorageError
	KindRanks    = "ranks"    // ranks that do not agree: RankMismatchError
	KindTimeout  = "timeout"  // TimeoutError
	KindProtocol = "protocol" // a breach of the protocol: ProtocolError
	KindGone     = "gone"     // the engine got the order to end: EngineGone
	KindLate     = "late"     // the trainer sent no HELLO in time: it may connect and greet again
	KindInternal = "internal" // a panic: EngineError
)

// Note is a line for the user's log.
type Note struct {
	Level string `json:"level"` // debug, info, warning
	Text  string `json:"text"`
	Once  string `json:"once"` // shown once per process for each such text; empty: each time
}
