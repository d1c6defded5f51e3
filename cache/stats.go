package cache

import "sync/atomic"

// Stats counts what a Cache has done so far.
type Stats struct {
	Hits     int64 `json:"hits"`     // reads and leases served entirely from the disk
	Misses   int64 `json:"misses"`   // reads that fetched something
	Bypassed int64 `json:"bypassed"` // reads that went to the source without filling: the cache is full, off or too slow, or the read was a ReadAt

	HitBytes    int64 `json:"hit_bytes"`    // asked for and served from the disk
	MissBytes   int64 `json:"miss_bytes"`   // fetched to be filled, including bytes between two runs of a block
	BypassBytes int64 `json:"bypass_bytes"` // fetched and not filled
	FilledBytes int64 `json:"filled_bytes"` // written to the disk

	DecodedHitBytes    int64 `json:"decoded_hit_bytes"`    // lent from decoded files
	DecodedFilledBytes int64 `json:"decoded_filled_bytes"` // written to decoded files

	DiskReadBytes    int64   `json:"disk_read_bytes"`    // read from the disk, or from the system's memory for files; bytes that were mapped already do not count
	DiskReadSeconds  float64 `json:"disk_read_seconds"`  // with at least one such read
	DiskWriteSeconds float64 `json:"disk_write_seconds"` // with at least one write of FilledBytes or DecodedFilledBytes
	PendingBytes     int64   `json:"pending_bytes"`      // fetched or decoded, and waiting for the disk now

	Waited  int64 `json:"waited"`  // reads that waited for another's fill
	Dropped int64 `json:"dropped"` // bytes that were fetched and not written: memory or disk was full, or the disk failed
	Bad     int64 `json:"bad"`     // blocks that failed their checksum; they were fetched again
	Evicted int64 `json:"evicted"` // shards that were evicted, and decoded files
	Trouble int64 `json:"trouble"` // times that the disk failed
}

// counters is Stats while it grows.
type counters struct {
	hits, misses, bypassed           atomic.Int64
	hitBytes, missBytes, bypassBytes atomic.Int64
	filledBytes, dropped             atomic.Int64
	waited, bad, evicted, trouble    atomic.Int64

	decodedHitBytes, decodedFilledBytes atomic.Int64

	diskReads, diskWrites diskTime
	pendingNow            atomic.Int64 // bytes
}

// Stats returns the counts so far.
func (c *counters) Stats() Stats {
	readBytes, readSeconds := c.diskReads.sofar()
	_, writeSeconds := c.diskWrites.sofar()
	return Stats{
		DiskReadBytes: readBytes, DiskReadSeconds: readSeconds, DiskWriteSeconds: writeSeconds, PendingBytes: c.pendingNow.Load(),
		Hits: c.hits.Load(), Misses: c.misses.Load(), Bypassed: c.bypassed.Load(),
		HitBytes: c.hitBytes.Load(), MissBytes: c.missBytes.Load(), BypassBytes: c.bypassBytes.Load(),
		FilledBytes: c.filledBytes.Load(), Waited: c.waited.Load(), Dropped: c.dropped.Load(), Bad: c.bad.Load(),
		DecodedHitBytes: c.decodedHitBytes.Load(), DecodedFilledBytes: c.decodedFilledBytes.Load(),
		Evicted: c.evicted.Load(), Trouble: c.trouble.Load(),
	}
}
