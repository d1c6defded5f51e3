//go:build !race

package iterable

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/shuffle"
)

// residentFile tells a child process of TestResidentMemory what to read.
const residentFile = "SHARDFEED_TEST_RESIDENT"

// Columns of a few bytes that become large stay within the promise of the memory option: 1.1 times
// the memory and 64 MiB. A child process reads them, since this one holds other tests' memory.
func TestResidentMemory(t *testing.T) {
	if path := os.Getenv(residentFile); path != "" {
		readResident(t, path)
		return
	}
	const rows = 6_000_000
	type nulls struct {
		A *int64 `parquet:"a,optional,dict"`
	}
	type nullTexts struct {
		A *string `parquet:"a,optional"`
	}
	type zeros struct {
		A int64 `parquet:"a,delta"`
	}
	for name, file := range map[string][]byte{
		"nulls": sameRows[nulls](t, rows), "texts": sameRows[nullTexts](t, rows), "zeros": sameRows[zeros](t, rows),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.parquet")
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
			c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestResidentMemory$")
			c.Env = append(os.Environ(), residentFile+"="+path)
			out, err := c.CombinedOutput()
			var memory, peak int64
			if i := bytes.Index(out, []byte("resident ")); err == nil && i >= 0 {
				_, err = fmt.Sscanf(string(out[i:]), "resident %d %d", &memory, &peak)
			}
			if err != nil || peak == 0 {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%d bytes are %v under a memory of %v", len(file), mem.Bytes(peak), mem.Bytes(memory))
			if most := memory + memory/10 + 64<<20; peak > most {
				t.Errorf("%v resident, %v promised", mem.Bytes(peak), mem.Bytes(most))
			}
		})
	}
}

// sameRows is a file of one row group of zero rows.
func sameRows[T any](t *testing.T, rows int) []byte {
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b)
	some := make([]T, 1<<16)
	for ; rows > 0; rows -= len(some) {
		if _, err := w.Write(some[:min(rows, len(some))]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// readResident reads a file, with as little memory as it is admitted with, and prints both.
func readResident(t *testing.T, path string) {
	memory := int64(1 << 20)
	for {
		d, err := Open(t.Context(), shard.Stores{"file": local.Store{}}, []string{"file://" + path}, Options{Order: Order{Shuffle: true}, ShuffleBuffer: Size{Rows: 500_000}, Resources: Resources{Memory: memory}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := d.Stream(t.Context(), shuffle.Worker{}, StreamOptions{BatchSize: 4096})
		if refused := (*MemoryError)(nil); errors.As(err, &refused) {
			memory = refused.Need.Total()
			d.Close()
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for {
			draw, err := s.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			draw.Release()
		}
		s.Close()
		d.Close()
		fmt.Printf("resident %d %d\n", memory, peakResident(t))
		return
	}
}

// peakResident is the most memory that this process had resident.
func peakResident(t *testing.T) int64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if v, is := strings.CutPrefix(s.Text(), "VmHWM:"); is {
			var kib int64
			if _, err := fmt.Sscanf(v, "%d kB", &kib); err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}
