package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A result is the cost of one round.
type result struct {
	Mode          string  `json:"mode"`
	Rows          int64   `json:"rows"`
	DecodedBytes  int64   `json:"decoded_bytes"` // by the footers: uncompressed pages
	UserSeconds   float64 `json:"user_seconds"`
	SystemSeconds float64 `json:"system_seconds"`
	Seconds       float64 `json:"seconds"`
}

func main() {
	set := flag.String("set", "", "directory of parquet files")
	columns := flag.String("columns", "", "columns to decode, by commas; empty: all")
	mode := flag.String("mode", "ours", "ours, ceiling or numbers")
	rounds := flag.Int("rounds", 1, "how often")
	materialize := flag.Bool("materialize", false, "store values in place of codes")
	profile := flag.String("profile", "", "write a processor profile of the rounds to this file")
	flag.Parse()
	if err := run(*set, *columns, *mode, *rounds, *materialize, *profile); err != nil {
		fmt.Fprintln(os.Stderr, "decode:", err)
		os.Exit(1)
	}
}

func run(set, columns, mode string, rounds int, materialize bool, profile string) error {
	runtime.GOMAXPROCS(1)
	var names []string
	if columns != "" {
		names = strings.Split(columns, ",")
	}
	var pass func(context.Context) (rows, bytes int64, err error)
	switch mode {
	case "ours":
		pass = newOurs(set, names, materialize).pass
	case "ceiling":
		pass = newCeiling(set, names).pass
	case "numbers":
		n := newNumbers(set, names)
		if err := n.open(context.Background()); err != nil {
			return err
		}
		pass = n.pass
	default:
		return fmt.Errorf("no such mode: %q", mode)
	}
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	out := json.NewEncoder(os.Stdout)
	for range rounds {
		user, system, start := cpu("user"), cpu("system"), time.Now()
		rows, bytes, err := pass(context.Background())
		if err != nil {
			return err
		}
		r := result{Mode: mode, Rows: rows, DecodedBytes: bytes}
		r.UserSeconds, r.SystemSeconds, r.Seconds = cpu("user")-user, cpu("system")-system, time.Since(start).Seconds()
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// cpu is the processor time that the process has taken, in seconds.
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
