package local

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

func TestClassify(t *testing.T) {
	for _, c := range []struct{ cause, want error }{
		{syscall.ENOENT, shard.ErrNotExist},
		{syscall.ENOTDIR, shard.ErrNotExist},
		{syscall.ENAMETOOLONG, shard.ErrNotExist},
		{syscall.EACCES, shard.ErrDenied},
		{syscall.EPERM, shard.ErrDenied},
		{syscall.ESTALE, shard.ErrChanged},
		{syscall.EIO, syscall.EIO},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			err := classify(&fs.PathError{Op: "open", Path: "secret", Err: c.cause})
			if !errors.Is(err, c.want) {
				t.Errorf("%v became %v", c.cause, err)
			}
			if text := err.Error(); text != c.want.Error() && text != c.want.Error()+": "+c.cause.Error() {
				t.Errorf("%v reads %q", c.cause, text)
			}
		})
	}
	if hint(syscall.EMFILE) == "" || hint(syscall.EIO) != "" {
		t.Error("the hint is for the limit of open files")
	}
}

func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"a", "/a b", "file:///a%20b", "file://localhost/a", "file:/a", "s3://b/k"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		prefix, path, err := split(address)
		if err != nil {
			if !errors.Is(err, shard.ErrBadURI) {
				t.Fatal(err)
			}
			return
		}
		if (tree{prefix: prefix}).URI(path) != address {
			t.Fatalf("%q was cut into %q and %q", address, prefix, path)
		}
		decoded, ok := decode(prefix, path)
		if !ok {
			return
		}
		address2 := tree{prefix: prefix, spelled: path, decoded: decoded}.URI(decoded + "/100% sure")
		_, path2, err := split(address2)
		if err != nil {
			t.Fatal(err)
		}
		if again, ok := decode(prefix, path2); !ok || again != decoded+"/100% sure" {
			t.Fatalf("%q leads to %q, not below %q", address2, again, decoded)
		}
	})
}
