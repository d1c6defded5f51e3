package shard

// Traffic is what a store asked of its servers so far. Each number only grows, but for Window.
type Traffic struct {
	Lists     int64 `json:"lists"`      // requests that list
	Looks     int64 `json:"looks"`      // requests that describe one file
	Reads     int64 `json:"reads"`      // requests for bytes
	ReadBytes int64 `json:"read_bytes"` // bytes that arrived, holes between ranges included
	Retries   int64 `json:"retries"`    // requests made again, and bodies gone on with, after a fault
	Hedges    int64 `json:"hedges"`     // second requests because the first was slow to answer
	Throttled int64 `json:"throttled"`  // answers that asked to slow down
	Failovers int64 `json:"failovers"`  // changes to another server for the same thing
	Window    int   `json:"window"`     // requests that may be in flight now
}

// Add is the sum of both; a window is that of the wider.
func (t Traffic) Add(o Traffic) Traffic {
	return Traffic{
		Lists: t.Lists + o.Lists, Looks: t.Looks + o.Looks, Reads: t.Reads + o.Reads, ReadBytes: t.ReadBytes + o.ReadBytes,
		Retries: t.Retries + o.Retries, Hedges: t.Hedges + o.Hedges, Throttled: t.Throttled + o.Throttled,
		Failovers: t.Failovers + o.Failovers, Window: max(t.Window, o.Window),
	}
}

// A Sender is a Store that sends requests to servers and counts them.
type Sender interface{ Traffic() Traffic }

// TrafficOf is what store asked of its servers so far, nothing for a store without servers.
func TrafficOf(store Store) Traffic {
	if s, ok := store.(Sender); ok {
		return s.Traffic()
	}
	return Traffic{}
}
