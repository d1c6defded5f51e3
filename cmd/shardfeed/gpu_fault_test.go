//go:build linux

package main

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/gpu/cuda"
	"github.com/shardfeed/shardfeed/internal/fakecuda"
	"github.com/shardfeed/shardfeed/shard"
)

// A mapped file that shrinks is an error in a program that calls CUDA's driver too, on whatever
// thread, with cgo and without: the calls leave the runtime its signals.
func TestFaultBesideDriver(t *testing.T) {
	driver, err := cuda.Load(fakecuda.Open(t).Library)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 20 {
				if _, err := driver.Count(); err != nil {
					t.Error(err)
				}
				if err := touchShrunk(filepath.Join(t.TempDir(), "mapped")); !errors.Is(err, shard.ErrChanged) {
					t.Errorf("the fault became %v", err)
				}
			}
		})
	}
	group.Wait()
}

// touchShrunk reads a page of a mapped file that the file has no more.
func touchShrunk(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(1 << 16); err != nil {
		return err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, 1<<16, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	defer unix.Munmap(b)
	if err := f.Truncate(0); err != nil {
		return err
	}
	var t toucher
	return shard.Guard(func() error {
		t.add(b)
		return nil
	})
}
