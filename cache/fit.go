package cache

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/shardfeed/shardfeed/internal/trusted"
)

// A misfit is a kind of file system that cannot hold a cache.
type misfit struct{ name, why string }

const (
	onNetwork = "its locks and mappings do not work between processes as a cache needs them, and reading it is not faster than the source"
	inMemory  = "it would take the memory that training needs"
)

// misfits are the file systems that a cache is refused on, by the magic number of statfs(2).
var misfits = map[uint32]misfit{
	0x6969:     {"NFS", onNetwork},
	0xff534d42: {"CIFS", onNetwork},
	0xfe534d42: {"SMB", onNetwork},
	0x517b:     {"SMB", onNetwork},
	0x0bd00bd0: {"Lustre", onNetwork},
	0x47504653: {"GPFS", onNetwork},
	0x00c36400: {"Ceph", onNetwork},
	0x19830326: {"BeeGFS", onNetwork},
	0x20030528: {"PVFS", onNetwork},
	0x5346414f: {"AFS", onNetwork},
	0x01161970: {"GFS2", onNetwork},
	0x7461636f: {"OCFS2", onNetwork},
	0xaad7aaea: {"PanFS", onNetwork},
	0x01021997: {"9p", onNetwork},
	0x786f4256: {"a shared folder of VirtualBox", onNetwork},
	0x65735546: {"FUSE", "its locks and mappings are what a program makes of them, often over a network"},
	0x01021994: {"tmpfs", inMemory},
	0x858458f6: {"ramfs", inMemory},
	0x958458f6: {"hugetlbfs", inMemory},
}

// Fit returns nil when dir can hold a cache by the kind of its file system, else an error that
// wraps ErrUnfit and says why. It looks at the nearest parent that exists, and makes nothing.
func Fit(dir string) error {
	_, err := checkFit(dir)
	return err
}

// checkFit looks at the file system of a directory, or of its nearest parent that exists.
func checkFit(dir string) (diskState, error) {
	disk, err := diskNear(dir)
	if err != nil {
		return disk, err
	}
	if m, bad := misfits[disk.kind]; bad {
		return disk, fmt.Errorf("%w: %s is on %s: %s; give a directory on a local disk, or leave it out", ErrUnfit, dir, m.name, m.why)
	}
	return disk, nil
}

// trialMark is the prefix of the files that tryOut makes.
const trialMark = "try-"

// tryOut does once what a shard file needs, to detect early a file system that lacks it.
func tryOut(root *trusted.Dir) error {
	name := trialMark + rand.Text()
	linked := name + ".link"
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	defer f.Close()
	defer func() { _, _ = root.Remove(name), root.Remove(linked) }()
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"allocate space (fallocate)", func() error { return allocate(f, headerPage) }},
		{"link a file", func() error { return root.Link(name, linked) }},
		{"lock a file", func() error { return share(f) }},
		{"lock a part of an open file", func() error { return lockRange(f, 0, 8) }},
		{"map a file", func() error {
			b, err := mapHead(f, headerPage, false)
			if err == nil {
				unmap(b)
			}
			return err
		}},
	} {
		if err := step.do(); noSpace(err) {
			return nil // what is held can still be read
		} else if err != nil {
			return fmt.Errorf("%w: %s cannot %s: %w", ErrUnfit, root.Path(), step.what, err)
		}
	}
	return nil
}

// diskNear is diskOf for a directory, or its nearest parent that exists.
func diskNear(dir string) (diskState, error) {
	dir, err := filepath.Abs(dir)
	for err == nil {
		if _, err = os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			break
		}
		dir, err = filepath.Dir(dir), nil
	}
	if err != nil {
		return diskState{}, err
	}
	return diskOf(dir)
}
