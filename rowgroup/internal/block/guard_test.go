package block

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/shard"
)

// A goneLease lends bytes that are gone.
type goneLease struct{ shard.Lease }

// A file that another program cuts under a block is an error that names the shard, and no crash.
func TestGuardCutImage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(path, make([]byte, 1<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := unix.Mmap(int(f.Fd()), 0, 1<<16, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(b)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	block := &Block{lease: &goneLease{}, from: Origin{URI: "a.parquet", RowGroup: 3}}
	err = Guard(t.Context(), []*Block{{}, block}, func() error { return fmt.Errorf("%d is read", b[5000]) })
	if !errors.Is(err, shard.ErrChanged) || !strings.HasPrefix(err.Error(), "a.parquet: row group 3: ") || !strings.Contains(err.Error(), "start again") {
		t.Errorf("%v", err)
	}
	own := errors.New("own")
	for _, blocks := range [][]*Block{nil, {{}}, {block}} {
		if err := Guard(t.Context(), blocks, func() error { return own }); err != own {
			t.Errorf("%v", err)
		}
	}

	made := &Block{rows: 7}
	made.refs.Store(1)
	times := 0
	block.Remake(func(context.Context) (*Block, error) { times++; return made, nil })
	for range 2 { // batches
		blocks, runs := []*Block{{}, block}, 0
		err := Guard(t.Context(), blocks, func() error {
			if runs++; blocks[1] == block {
				return fmt.Errorf("%d is read", b[5000])
			}
			return nil
		})
		if err != nil || blocks[1] != made || times != 1 || runs > 2 {
			t.Errorf("%v, made %d times, %d runs", err, times, runs)
		}
	}
}

// An imageLease lends an image that is whole or not.
type imageLease struct {
	shard.Lease
	whole bool
}

func (l *imageLease) Whole() bool { return l.whole }

// If an image was overwritten, errors and panics of a gather may come from its bytes: the block is
// made from the shard. Else they pass through.
func TestGuardOverwrittenImage(t *testing.T) {
	own := errors.New("own")
	for _, whole := range []bool{false, true} {
		for name, fail := range map[string]func() error{"error": func() error { return own }, "panic": func() error { panic(own) }} {
			made := &Block{rows: 7}
			made.refs.Store(1)
			block := &Block{lease: &imageLease{whole: whole}}
			block.Remake(func(context.Context) (*Block, error) { return made, nil })
			blocks := []*Block{{}, block}
			err := func() (err error) {
				defer func() {
					if v := recover(); v != nil {
						err = v.(error)
					}
				}()
				return Guard(t.Context(), blocks, func() error {
					if blocks[1] == block {
						return fail()
					}
					return nil
				})
			}()
			if whole && (err != own || blocks[1] != block) || !whole && (err != nil || blocks[1] != made) {
				t.Errorf("%s, whole %v: %v", name, whole, err)
			}
		}
	}
}
