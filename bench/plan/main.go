// Command plan measures the order of a data set with very many row groups: what the plan takes, and
// the lanes of one rank, without any file. It prints its figures as JSON.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/shardfeed/shardfeed/shuffle"
)

type figures struct {
	Groups    int     `json:"row_groups"`
	Bytes     int64   `json:"heap_bytes"` // of the manifest, the plan and the lane
	PlanBytes int64   `json:"plan_bytes"` // of them without the manifest
	Seconds   float64 `json:"seconds"`
	User      float64 `json:"user_seconds"`
	System    float64 `json:"system_seconds"`
}

func main() {
	shards := flag.Int("shards", 1_000_000, "shards, of 10 row groups each")
	ranks := flag.Int("ranks", 8000, "the world size")
	flag.Parse()
	f, err := measure(*shards, *ranks)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "plan:", err)
		os.Exit(1)
	}
}

func measure(shards, ranks int) (f figures, err error) {
	before := heap()
	m := manifest(shards)
	f.Groups = len(m.Groups)
	f.PlanBytes = heap()
	begin := time.Now()
	user, system := used()
	lane, err := plan(m, ranks)
	if err != nil {
		return f, err
	}
	f.Seconds = time.Since(begin).Seconds()
	f.User, f.System = used()
	f.User, f.System = f.User-user, f.System-system
	after := heap()
	f.Bytes, f.PlanBytes = after-before, after-f.PlanBytes
	runtime.KeepAlive(lane)
	return f, nil
}

// plan cuts the units, makes the plan, and the first lane of a rank in the middle.
func plan(m *shuffle.Manifest, ranks int) (*shuffle.Lane, error) {
	units, err := shuffle.CutUnits(m, func(int) shuffle.Layout { return shuffle.Layout{} }, 0)
	if err != nil {
		return nil, err
	}
	params, err := shuffle.Options{Buffer: m.Rows() / 100, WorldSize: ranks}.Params(units)
	if err != nil {
		return nil, err
	}
	p, err := shuffle.New(m, units, params, 7)
	if err != nil {
		return nil, err
	}
	return p.Epoch(0).Lane(params.Lanes / 2), nil
}

// manifest is 10 row groups of 50,000 rows in each shard.
func manifest(shards int) *shuffle.Manifest {
	m := &shuffle.Manifest{Shards: make([]shuffle.Shard, shards), Groups: make([]shuffle.Group, 0, 10*shards)}
	for s := range m.Shards {
		m.Shards[s] = shuffle.Shard{Path: fmt.Sprintf("date=2026-11-24/part-%07d.parquet", s), Size: 10 << 30, Version: "v"}
		for g := range int32(10) {
			m.Groups = append(m.Groups, shuffle.Group{Shard: int32(s), Index: g, Rows: 50_000})
		}
	}
	return m
}

func heap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// used is the processor time of this process so far.
func used() (user, system float64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano()).Seconds(), time.Duration(u.Stime.Nano()).Seconds()
}
