package watch

import (
	"time"

	"github.com/shardfeed/shardfeed/internal/engine"
)

// A View is the engines of this user at one moment, the oldest first.
type View struct {
	At      time.Time `json:"at"`
	Engines []Engine  `json:"engines"`
}

// An Engine describes one engine. Either Error is set or Now.
type Engine struct {
	Socket string           `json:"socket"`
	Error  string           `json:"error"` // why it does not show what it does, or ""
	Now    *engine.Snapshot `json:"now"`
	Rates  *Rates           `json:"rates"` // null in the first look
}

// Rates are an engine's work between two looks, per second unless noted.
type Rates struct {
	Seconds    float64       `json:"seconds"`         // between the looks
	Processors float64       `json:"processors_used"` // in the mean
	Rows       float64       `json:"rows"`
	Bytes      float64       `json:"bytes"`           // of batches
	Read       float64       `json:"read_bytes"`      // encoded columns
	HitShare   *float64      `json:"cache_hit_share"` // of bytes; null without reads
	Wait       Wait          `json:"wait"`            // of all ranks together
	Sessions   []SessionRate `json:"sessions"`        // as in the snapshot
	Stores     []StoreRate   `json:"stores"`          // as in the snapshot
}

// A Wait is how training loops waited, in shares of their time.
type Wait struct {
	Known bool               `json:"known"` // the loops have reported
	Share float64            `json:"share"`
	Parts map[string]float64 `json:"parts"` // by cause
}

// A SessionRate is the work of a session.
type SessionRate struct {
	Rows  float64 `json:"rows"`
	Bytes float64 `json:"bytes"`
	Wait  Wait    `json:"wait"`
}

// A StoreRate is the requests to a store.
type StoreRate struct {
	Requests  float64 `json:"requests"`
	Bytes     float64 `json:"bytes"`
	Retries   float64 `json:"retries"`
	Throttles float64 `json:"throttles"`
}
