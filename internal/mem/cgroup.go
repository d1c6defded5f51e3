package mem

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// noLimit is from where a version 1 limit means none: the kernel writes the largest multiple of a
// page there.
const noLimit = 1 << 60

// cgroupLimit returns the smallest memory limit of the cgroup that this process is in and of those
// above it, of either version, or 0. The layout of the files is that of proc(5) and cgroups(7).
func cgroupLimit(fsys fs.FS) int64 {
	groups, err := fs.ReadFile(fsys, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	mounts, err := fs.ReadFile(fsys, "proc/self/mountinfo")
	if err != nil {
		return 0
	}
	var least int64
	for line := range strings.Lines(string(groups)) {
		// hierarchy:controllers:path; version 2 is "0::path".
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		file := ""
		switch {
		case parts[0] == "0" && parts[1] == "":
			file = "memory.max"
		case hasWord(parts[1], "memory"):
			file = "memory.limit_in_bytes"
		default:
			continue
		}
		for _, m := range cgroupMounts(string(mounts), file) {
			if n := leastUpwards(fsys, m, parts[2], file); n > 0 && (least == 0 || n < least) {
				least = n
			}
		}
	}
	return least
}

// A cgroupMount is where part of a hierarchy is seen: the groups below root appear below point.
type cgroupMount struct{ root, point string }

// cgroupMounts finds the mounts that can hold the limit file.
func cgroupMounts(mountinfo, file string) []cgroupMount {
	var found []cgroupMount
	for line := range strings.Lines(mountinfo) {
		// id parent major:minor root point options [fields] - type source options
		before, after, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 5 || len(g) < 1 {
			continue
		}
		v2 := g[0] == "cgroup2" && file == "memory.max"
		v1 := g[0] == "cgroup" && len(g) > 2 && hasWord(g[2], "memory") && file == "memory.limit_in_bytes"
		if v1 || v2 {
			found = append(found, cgroupMount{root: f[3], point: f[4]})
		}
	}
	return found
}

// leastUpwards reads the limit of a group and of each group above it, as far as the mount shows
// them. Inside a container the group's path may name groups that the mount does not show; then the
// mount's own root is the nearest that is seen.
func leastUpwards(fsys fs.FS, m cgroupMount, group, file string) int64 {
	rel, ok := strings.CutPrefix(group, strings.TrimSuffix(m.root, "/"))
	if !ok || strings.HasPrefix(path.Clean(group), "/..") {
		rel = "/"
	}
	var least int64
	for dir := path.Clean("/" + rel); ; dir = path.Dir(dir) {
		name := strings.TrimPrefix(path.Join(m.point, dir, file), "/")
		if n := readLimit(fsys, name); n > 0 && (least == 0 || n < least) {
			least = n
		}
		if dir == "/" {
			return least
		}
	}
}

// readLimit returns 0 for a file that is absent, says "max" or says more than any machine has.
func readLimit(fsys fs.FS, name string) int64 {
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || n <= 0 || n >= noLimit {
		return 0
	}
	return n
}

// hasWord says whether a list with commas has the word.
func hasWord(list, word string) bool { return slices.Contains(strings.Split(list, ","), word) }
