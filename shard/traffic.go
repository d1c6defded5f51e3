package shard

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Traffic counts the requests of a store. Each number only grows, except Window.
type Traffic struct {
	Lists     int64 `json:"lists"`      // requests that list
	Looks     int64 `json:"looks"`      // requests that describe one file
	Reads     int64 `json:"reads"`      // requests for bytes
	ReadBytes int64 `json:"read_bytes"` // bytes that arrived, holes between ranges included
	Retries   int64 `json:"retries"`    // requests made again after a fault, those for the rest of a body included
	Hedges    int64 `json:"hedges"`     // second requests because the first was slow to answer
	Throttled int64 `json:"throttled"`  // answers that asked to slow down
	Failovers int64 `json:"failovers"`  // changes to another server for the same thing
	Window    int   `json:"window"`     // requests that may be in flight now
}

// Add returns the sum of both, with the wider window.
func (t Traffic) Add(o Traffic) Traffic {
	return Traffic{
		Lists: t.Lists + o.Lists, Looks: t.Looks + o.Looks, Reads: t.Reads + o.Reads, ReadBytes: t.ReadBytes + o.ReadBytes,
		Retries: t.Retries + o.Retries, Hedges: t.Hedges + o.Hedges, Throttled: t.Throttled + o.Throttled,
		Failovers: t.Failovers + o.Failovers, Window: max(t.Window, o.Window),
	}
}

// Requests is the number of all requests.
func (t Traffic) Requests() int64 { return t.Lists + t.Looks + t.Reads }

// StoreTraffic measures the requests to one place: a bucket, a name service, a server, the local
// disks or memory. Each number only grows, except Window and InFlight.
type StoreTraffic struct {
	Store string `json:"store"` // as "s3://bucket", "hdfs://service", "webhdfs://host:9870", "file://"
	Traffic
	Answers          int64   `json:"answers"`            // requests for bytes that were answered
	Errors           int64   `json:"errors"`             // requests that failed, or whose answer broke off; requests that were given up do not count
	InFlight         int     `json:"in_flight"`          // requests now
	Seconds          float64 `json:"seconds"`            // of all requests, summed, with those in flight so far
	FirstByteSeconds float64 `json:"first_byte_seconds"` // from a request for bytes to the start of its answer, summed over Answers
	BusySeconds      float64 `json:"busy_seconds"`       // with at least one request for bytes in flight
}

// Latency is the mean time until the answer to a request for bytes starts; 0 without an answer.
func (t StoreTraffic) Latency() time.Duration {
	if t.Answers == 0 {
		return 0
	}
	return time.Duration(t.FirstByteSeconds / float64(t.Answers) * float64(time.Second))
}

// Throughput is the bytes per second while at least one request for bytes is in flight; 0 before
// the first.
func (t StoreTraffic) Throughput() float64 {
	if t.BusySeconds <= 0 {
		return 0
	}
	return float64(t.ReadBytes) / t.BusySeconds
}

// Since returns the figures of the time after an earlier measurement of the same place.
func (t StoreTraffic) Since(earlier StoreTraffic) StoreTraffic {
	return t.plus(earlier, -1)
}

// Merge returns the sum of two measurements of one place, by several stores. Times in which both
// were busy count twice.
func (t StoreTraffic) Merge(o StoreTraffic) StoreTraffic {
	sum := t.plus(o, 1)
	sum.Store, sum.InFlight, sum.Window = o.Store, t.InFlight+o.InFlight, t.Window+o.Window
	return sum
}

func (t StoreTraffic) plus(o StoreTraffic, sign int64) StoreTraffic {
	t.Lists, t.Looks, t.Reads, t.ReadBytes = t.Lists+sign*o.Lists, t.Looks+sign*o.Looks, t.Reads+sign*o.Reads, t.ReadBytes+sign*o.ReadBytes
	t.Retries, t.Hedges = t.Retries+sign*o.Retries, t.Hedges+sign*o.Hedges
	t.Throttled, t.Failovers = t.Throttled+sign*o.Throttled, t.Failovers+sign*o.Failovers
	t.Answers, t.Errors = t.Answers+sign*o.Answers, t.Errors+sign*o.Errors
	t.Seconds += float64(sign) * o.Seconds
	t.FirstByteSeconds += float64(sign) * o.FirstByteSeconds
	t.BusySeconds += float64(sign) * o.BusySeconds
	return t
}

// Metered is a Store that measures its requests.
type Metered interface {
	// ByStore returns the figures of each place, sorted by its name.
	ByStore() []StoreTraffic
}

// MaxPlaces bounds the places that are measured one by one, so that figures stay few whatever the
// addresses are.
const MaxPlaces = 32

// Elsewhere is the name under which all further places of a scheme are measured, as "s3://*".
func Elsewhere(place string) string {
	scheme, _ := SplitScheme(place)
	return scheme + "://*"
}

// Totals sums the figures of many stores, by place. There are at most MaxPlaces, and one more for
// each scheme. A place keeps its name in all clones, so figures only grow from one to the next.
type Totals struct {
	sums  map[string]StoreTraffic
	named *names
}

// names are the places that are measured one by one.
type names struct {
	mu  sync.Mutex
	all map[string]bool
}

// of returns the name of a place.
func (n *names) of(place string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.all[place]:
	case len(n.all) < MaxPlaces:
		n.all[place] = true
	default:
		return Elsewhere(place)
	}
	return place
}

// NewTotals returns the sum of nothing.
func NewTotals() Totals {
	return Totals{sums: map[string]StoreTraffic{}, named: &names{all: map[string]bool{}}}
}

// Clone returns a sum that grows apart from this one.
func (t Totals) Clone() Totals { return Totals{sums: maps.Clone(t.sums), named: t.named} }

// Add adds the figures of some places.
func (t Totals) Add(all []StoreTraffic) {
	for _, one := range all {
		one.Store = t.named.of(one.Store)
		t.sums[one.Store] = t.sums[one.Store].Merge(one)
	}
}

// All returns the figures, sorted by the name of the place.
func (t Totals) All() []StoreTraffic {
	all := make([]StoreTraffic, 0, len(t.sums))
	for _, one := range t.sums {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b StoreTraffic) int { return strings.Compare(a.Store, b.Store) })
	return all
}

// Retire removes the figures of the present: of stores that have closed.
func (t Totals) Retire() {
	for place, one := range t.sums {
		one.Window, one.InFlight = 0, 0
		t.sums[place] = one
	}
}
