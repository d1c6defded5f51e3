package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// A way reads ranges. Each worker has a reader of its own.
type way interface {
	// reader is called once for each worker, before the time is taken.
	reader(ctx context.Context) (reader, error)
	Close() error
}

// A reader fills all of b from byte off of a shard on.
type reader func(ctx context.Context, uri string, b []byte, off int64) error

// A result is the cost of reading all ranges once.
type result struct {
	Way           string  `json:"way"`
	Bytes         int64   `json:"bytes"`
	Ranges        int     `json:"ranges"`
	Seconds       float64 `json:"seconds"`
	UserSeconds   float64 `json:"user_seconds"`
	SystemSeconds float64 `json:"system_seconds"`
	BufferBytes   int64   `json:"buffer_bytes"` // of the workers' memory that ranges were read into
	CRC           uint32  `json:"crc,omitempty"`
}

type readFlags struct {
	way, ranges, profile string
	inFlight             int
	check                bool
}

func read(ctx context.Context, args []string) (err error) {
	var f readFlags
	fs := flag.NewFlagSet("read", flag.ContinueOnError)
	fs.StringVar(&f.way, "way", "s3", "s3, sdk, hdfs, library, gs or az")
	fs.StringVar(&f.ranges, "ranges", "", "file of the ranges")
	fs.IntVar(&f.inFlight, "in-flight", 8, "ranges that are read at once")
	fs.BoolVar(&f.check, "check", false, "also print a checksum over the ranges, which costs time")
	fs.StringVar(&f.profile, "profile", "", "write a processor profile to this file")
	if err := fs.Parse(args); err != nil {
		return err
	}
	pieces, err := readPieces(f.ranges)
	if err != nil {
		return err
	}
	if f.profile != "" {
		out, err := os.Create(f.profile)
		if err != nil {
			return err
		}
		defer out.Close()
		if err := pprof.StartCPUProfile(out); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	w, err := openWay(ctx, f, pieces)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	r, err := readAll(ctx, w, f, pieces)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// openWay makes what is asked for. Listing and connecting to namenodes come before the time is
// taken.
func openWay(ctx context.Context, f readFlags, pieces []piece) (way, error) {
	switch f.way {
	case "sdk":
		return newSDK(ctx)
	case "library":
		return newLibrary(pieces)
	case "s3", "hdfs", "gs", "az":
		return newStore(ctx, f, pieces)
	}
	return nil, fmt.Errorf("no such way: %q", f.way)
}

// readAll reads all ranges, f.inFlight at once: each worker takes the next free one.
func readAll(ctx context.Context, w way, f readFlags, pieces []piece) (result, error) {
	readers := make([]reader, f.inFlight)
	for i := range readers {
		var err error
		if readers[i], err = w.reader(ctx); err != nil {
			return result{}, err
		}
	}
	sums := make([]uint32, len(pieces))
	size := slices.MaxFunc(pieces, func(a, b piece) int { return cmp.Compare(a.n, b.n) }).n
	buffers := make([][]byte, f.inFlight) // kept to the end, so that the process's peak holds all of them
	var next, touched atomic.Int64
	user, system, start := cpu("user"), cpu("system"), time.Now()
	g, ctx := errgroup.WithContext(ctx)
	for k, read := range readers {
		buffers[k] = make([]byte, size)
		g.Go(func() error {
			b, used := buffers[k], int64(0)
			defer func() { touched.Add(used) }()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(pieces) {
					return nil
				}
				p := pieces[i]
				if err := read(ctx, p.uri, b[:p.n], p.off); err != nil {
					return fmt.Errorf("%d bytes from %d of %s: %w", p.n, p.off, p.uri, err)
				}
				used = max(used, p.n)
				if f.check {
					sums[i] = crc32.ChecksumIEEE(b[:p.n])
				}
			}
		})
	}
	if err := g.Wait(); err != nil {
		return result{}, err
	}
	r := result{Way: f.way, Ranges: len(pieces), BufferBytes: touched.Load()}
	r.Seconds, r.UserSeconds, r.SystemSeconds = time.Since(start).Seconds(), cpu("user")-user, cpu("system")-system
	runtime.KeepAlive(buffers)
	for i, p := range pieces {
		r.Bytes += p.n
		if f.check {
			r.CRC = r.CRC*31 + sums[i]
		}
	}
	return r, nil
}

// cpu is the processor time that the process has taken, in seconds: "user" or "system".
func cpu(kind string) float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	t := u.Utime
	if kind == "system" {
		t = u.Stime
	}
	return float64(t.Sec) + float64(t.Usec)/1e6
}
