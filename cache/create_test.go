//go:build linux

package cache

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestCreate: both ways of making a shard file make the same, and none replaces one that is there.
func TestCreate(t *testing.T) {
	k := key{uri: "remote://a", version: "v", size: 300_000}
	large := key{uri: "remote://b", version: "v", size: smallHead / 8 * blockSize}
	for _, k := range []key{k, large} {
		t.Run(k.uri, func(t *testing.T) {
			k.name = nameOf(k)
			mark := stamp{used: time.Unix(5, 0), until: time.Unix(6, 0), by: 7}
			var sizes []int64
			for _, named := range []bool{false, true} {
				dir := testDir(t)
				root := rootOf(t, dir)
				path := filepath.Join(dir, k.name)
				if err := os.Mkdir(filepath.Dir(path), 0o700); named && err != nil {
					t.Fatal(err)
				}
				if named {
					if err := createNamed(root, k, mark); err != nil {
						t.Fatal(err)
					}
				} else {
					f, err := createFile(root, k, mark)
					if err != nil || f == nil {
						t.Fatal(f, err)
					}
					if _, err := remove(root, k.name); err != errBusy {
						t.Errorf("a file that was just made can be removed: %v", err)
					}
					f.Close()
				}
				x, err := openFile(root, k)
				if err != nil {
					t.Fatal(err)
				}
				info, err := x.f.Stat()
				if err != nil {
					t.Fatal(err)
				}
				if got := stampOf(x.head); !got.until.Equal(mark.until) || allocated(info) < x.head0() || info.Sys().(*syscall.Stat_t).Nlink != 1 {
					t.Errorf("%+v, %+v", got, info.Sys())
				}
				sizes = append(sizes, info.Size())
				if f, err := createFile(root, k, stamp{}); f != nil || err != nil {
					t.Errorf("made twice: %v", err)
				}
				if err := createNamed(root, k, stamp{}); err != nil {
					t.Errorf("made twice: %v", err)
				}
				if got := stampOf(x.head); got.by != 7 {
					t.Error("it was replaced")
				}
				x.close()
				if names, err := os.ReadDir(filepath.Dir(path)); len(names) != 1 || err != nil {
					t.Errorf("%v, %v", names, err)
				}
			}
			if sizes[0] != sizes[1] {
				t.Errorf("%v bytes", sizes)
			}
		})
	}
}

// head0 is what must be allocated of a file without data.
func (x *file) head0() int64 { return x.fileLayout.header + x.fileLayout.table }
