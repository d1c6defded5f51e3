package fakecuda

import (
	"fmt"
	"time"
)

// Counts has the resources and actions of the driver. All counts except copies and calls are zero
// after all resources are freed.
type Counts struct {
	PinnedBytes     int64 `json:"pinned_bytes"`
	RegisteredBytes int64 `json:"registered_bytes"`
	DeviceBytes     int64 `json:"device_bytes"`
	Pinned          int   `json:"pinned"`     // allocations of page-locked memory
	Registered      int   `json:"registered"` // ranges
	Device          int   `json:"device"`     // allocations of device memory
	Streams         int   `json:"streams"`
	Events          int   `json:"events"`
	Contexts        int   `json:"contexts"` // retained; the same one twice is two
	Dropped         int   `json:"dropped"`  // of the above, what ended with its context and was not freed before

	Copies        int64 `json:"copies"` // done beside the host
	CopiedBytes   int64 `json:"copied_bytes"`
	Pageable      int64 `json:"pageable"` // copies of memory that is not page-locked, done at once
	PageableBytes int64 `json:"pageable_bytes"`

	Calls      map[string]int `json:"calls"` // by function, without _v2
	Violations []string       `json:"violations"`
}

// Leaks names everything that was not freed.
func (c Counts) Leaks() []string {
	var leaks []string
	for _, left := range []struct {
		n    int
		what string
	}{
		{c.Pinned, "page-locked allocations"},
		{c.Registered, "registered ranges"},
		{c.Device, "device allocations"},
		{c.Streams, "streams"},
		{c.Events, "events"},
		{c.Contexts, "contexts"},
		{c.Dropped, "dropped with their context"},
	} {
		if left.n != 0 {
			leaks = append(leaks, fmt.Sprintf("%d %s", left.n, left.what))
		}
	}
	return leaks
}

// A Call is one call of the driver, from the log of the last few thousand.
type Call struct {
	Op     string `json:"op"`     // function, without _v2
	Thread int    `json:"thread"` // of the operating system
	Device int    `json:"device"` // of the current context, or -1
	Node   int    `json:"node"`   // cuMemHostAlloc: the NUMA node that the thread's memory policy prefers, or -1
	A      uint64 `json:"a"`      // bytes of allocations and copies; flags of streams and events; else the handle or device it is about
	B      uint64 `json:"b"`      // flags of allocations; stream of copies and records; event of waits
	Result int    `json:"result"` // code
}

// A Delay sets the times of copies: each starts at least Latency after its request, and takes
// PerMiB for each MiB.
type Delay struct {
	Latency time.Duration
	PerMiB  time.Duration
}
