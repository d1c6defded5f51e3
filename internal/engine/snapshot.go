package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shard"
)

// A Snapshot describes what an engine does now, the answer to SURVEY. Addresses have no secrets.
// Counts of ranks, caches and stores never fall while the engine lives: data sets that have closed
// keep their part in them.
type Snapshot struct {
	Engine   Process              `json:"engine"`
	Memory   Memory               `json:"memory"`
	Ranks    []RankWork           `json:"ranks"`    // by rank
	Sessions []SessionWork        `json:"sessions"` // of open data sets, by address and rank
	Openings []Opening            `json:"openings"` // data sets that are being opened
	Caches   []CacheWork          `json:"caches"`   // by directory
	Stores   []shard.StoreTraffic `json:"stores"`   // that were asked, by name
}

// Process describes the process of an engine.
type Process struct {
	ID         string    `json:"id"` // of only this engine, on any machine
	Build      string    `json:"build"`
	PID        int       `json:"pid"`
	Socket     string    `json:"socket"`
	Log        string    `json:"log"`
	Metrics    string    `json:"metrics"` // URL at which they are served, or ""
	Jobs       []string  `json:"jobs"`    // whose trainers are connected, as launchers name them
	Started    time.Time `json:"started"`
	Seconds    float64   `json:"seconds"`     // since it started
	CPUSeconds float64   `json:"cpu_seconds"` // that it used
	Processors int       `json:"processors"`  // that it may use
}

// Memory describes the budget of all streams of an engine, in bytes.
type Memory struct {
	Limit    int64                `json:"limit_bytes"` // 0: no limit
	Reserved int64                `json:"reserved_bytes"`
	Purposes map[string]MemoryUse `json:"purposes"` // those with any bytes
}

// MemoryUse is the memory of a purpose in bytes.
type MemoryUse struct {
	Reserved int64 `json:"reserved_bytes"`
	Used     int64 `json:"used_bytes"`
}

// RankWork counts the work for a rank of all data sets since the engine started.
type RankWork struct {
	Rank    int   `json:"rank"`
	Batches int64 `json:"batches"`       // handed out
	Rows    int64 `json:"rows"`          // of them, that count
	Bytes   int64 `json:"bytes"`         // of them
	Read    int64 `json:"read_bytes"`    // encoded columns: from stores or the cache
	Decoded int64 `json:"decoded_bytes"` // of columns
	Kept    int64 `json:"kept_bytes"`    // of columns that came decoded from the cache
	Lost    int64 `json:"lost_rows"`     // of their steps

	Wait wait.Report `json:"wait"` // of all training loops of the rank, without Now

	held time.Duration // in which memory kept its streams from reading further ahead
}

// add adds what a loader's stream did.
func (w *RankWork) add(s iterable.Stats) {
	w.Read += s.Fetched
	w.Decoded += s.Decoded
	w.Kept += s.Kept
	w.held += s.Held
}

// SessionWork describes the work of one rank of an open data set.
type SessionWork struct {
	ID        int64    `json:"id"`        // of only this session, in its engine
	Addresses []string `json:"addresses"` // the first few, without secrets
	Job       string   `json:"job"`       // of the trainers of the last iteration, as their launcher names it
	Trainers  []int    `json:"trainers"`  // their processes
	Rank      int      `json:"rank"`      // of the data ranks
	WorldSize int      `json:"world_size"`
	Iterating bool     `json:"iterating"` // between the start of an iteration and its end
	Epoch     uint64   `json:"epoch"`     // of the last iteration
	Step      int64    `json:"step"`      // of it, that the trainer gets next
	Steps     int64    `json:"steps"`     // of the epoch
	Batches   int64    `json:"batches"`   // of all iterations
	Rows      int64    `json:"rows"`
	Bytes     int64    `json:"bytes"`

	Wait wait.Report `json:"wait"` // of the training loop, by what its trainers sent

	FirstBatchSeconds float64 `json:"first_batch_seconds"` // from the first iteration's start on
}

func (w SessionWork) compare(o SessionWork) int {
	return cmp.Or(slices.Compare(w.Addresses, o.Addresses), cmp.Compare(w.Rank, o.Rank), cmp.Compare(w.Job, o.Job))
}

// An Opening describes how far the opening of a data set is.
type Opening struct {
	Addresses []string      `json:"addresses"`
	Seconds   float64       `json:"seconds"` // since it began
	Progress  wire.Progress `json:"progress"`
}

// CacheWork describes the use of a cache directory.
type CacheWork struct {
	Directory string `json:"directory"`
	Limit     int64  `json:"limit_bytes"`
	Held      int64  `json:"held_bytes"` // by all processes
	cache.Stats
}
