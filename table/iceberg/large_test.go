package iceberg

import (
	"fmt"
	"runtime"
	"testing"
)

// large is a table of n files in manifests of 1,000, with statistics of 20 columns.
func large(n int) *fixture {
	f := newFixture()
	var commits []commit
	for i := range n {
		if i%1000 == 0 {
			commits = append(commits, commit{sequence: int64(i/1000 + 1)})
		}
		last := &commits[len(commits)-1]
		path := fmt.Sprintf("%s/data/lang=l%d/00000-%d-0b8a3b5e-6f0c-4ab1-9b4c-2f1d9a7e51c3-00001.parquet", dir, i%50, i)
		last.files = append(last.files, file{path: path, lang: fmt.Sprint("l", i%50), rows: 1e6, size: 128 << 20, bounds: 20})
	}
	f.snapshot(commits...)
	return f
}

// A snapshot takes memory for its files, and none for their statistics.
func TestMemory(t *testing.T) {
	const files = 20_000
	f := large(files)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s, err := f.open(t, "")
	runtime.GC()
	runtime.ReadMemStats(&after)
	if err != nil || len(s.Files) != files {
		t.Fatal(err)
	}
	if each := int64(after.HeapAlloc-before.HeapAlloc) / files; each > 600 {
		t.Errorf("%d bytes for each file", each)
	}
	runtime.KeepAlive(f)
}

func BenchmarkOpen(b *testing.B) {
	f := large(100_000)
	b.ResetTimer()
	for range b.N {
		if s, err := f.open(b, ""); err != nil || len(s.Files) != 100_000 {
			b.Fatal(err)
		}
	}
}
