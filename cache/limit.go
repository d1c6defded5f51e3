package cache

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/shardfeed/shardfeed/internal/size"
	"github.com/shardfeed/shardfeed/internal/trusted"
)

// maxDefault bounds the default limit.
const maxDefault = 100 << 30

// DefaultLimit returns the limit of a cache in dir if the user gives none: the smaller of half the
// free space and 100 GiB. Bytes that the cache holds count as free. The directory need not exist.
// If that is too little for any cache, the error wraps ErrNoRoom.
func DefaultLimit(dir string) (int64, error) {
	room, err := capacityFor(dir)
	if err == nil && room/2 < minLimit {
		err = ErrNoRoom
	}
	return min(room/2, maxDefault), err
}

// ParseLimit parses a limit: bytes ("100GiB", "500MB", "1e11"), or a part of the free space
// ("50%"), in which bytes that the cache holds count as free. If a part is too little for any
// cache, the error wraps ErrNoRoom.
func ParseLimit(s, dir string) (int64, error) {
	n, err := parseLimit(strings.TrimSpace(s), dir)
	if err != nil {
		return 0, fmt.Errorf("%w, got %q", err, s)
	}
	if n < minLimit {
		return 0, fmt.Errorf("must be at least 1MiB, got %q", s)
	}
	return n, nil
}

func parseLimit(s, dir string) (int64, error) {
	if percent, ok := strings.CutSuffix(s, "%"); ok {
		part, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
		if err != nil || !(part > 0 && part <= 100) {
			return 0, errors.New("must be above 0% and at most 100%")
		}
		room, err := capacityFor(dir)
		if err == nil && room < minLimit {
			err = ErrNoRoom
		}
		return int64(float64(room) * part / 100), err
	}
	if n, err := strconv.ParseFloat(s, 64); err == nil && n >= 0 && n < math.MaxInt64 { // 1e11
		return int64(n), nil
	}
	n, err := size.Parse(s)
	if err != nil {
		return 0, errors.New("must be bytes, as in 100GiB, or a part of the free space, as in 50%")
	}
	return n, nil
}

// capacityFor returns the bytes that a cache in dir could take: the free space and the bytes that
// it holds. A read-only cache takes nothing, so any limit fits.
func capacityFor(dir string) (int64, error) {
	root, err := openRoot(dir)
	if err != nil {
		root = nil // Open reports the problem with the directory
	} else {
		defer root.Close()
		if root.ReadOnly() {
			return 2 * maxDefault, nil
		}
	}
	disk, err := diskNear(dir)
	if err != nil {
		return 0, err
	}
	held, err := accountOf(root)
	return disk.free + held, err
}

// openRoot opens the directory of the format in the directory that the user names.
func openRoot(dir string) (*trusted.Dir, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return trusted.Open(filepath.Join(dir, formatDir))
}

// isNoRoom reports whether the disk, or the user's part of it, is too full to make a file.
func isNoRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// accountOf returns the bytes that a cache holds according to its account, without scanning its
// files.
func accountOf(root *trusted.Dir) (int64, error) {
	if root == nil || !hasUsage(root) {
		return 0, nil
	}
	u, err := mapUsage(root)
	if err != nil {
		return 0, err
	}
	defer u.close()
	return u.bytes()
}

func hasUsage(root *trusted.Dir) bool {
	_, err := root.Lstat(usageName)
	return err == nil
}
