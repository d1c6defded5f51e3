package mem

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// unknownMemory is the assumed memory of a machine whose size is unknown.
const unknownMemory = 8 << 30

// A Machine is the memory that this process may use.
type Machine struct {
	Installed int64 // bytes of the machine, or 0 if unknown
	Cgroup    int64 // the smallest limit of the process's cgroup and its ancestors, or 0 without a limit
}

// ThisMachine asks the system. What cannot be read is 0.
func ThisMachine() Machine {
	return Machine{Installed: installed(), Cgroup: cgroupLimit(os.DirFS("/"))}
}

// Bytes is the smaller of the two limits.
func (m Machine) Bytes() int64 {
	switch {
	case m.Installed <= 0 && m.Cgroup <= 0:
		return unknownMemory
	case m.Installed <= 0:
		return m.Cgroup
	case m.Cgroup <= 0:
		return m.Installed
	}
	return min(m.Installed, m.Cgroup)
}

// RankLimit is the default memory of one of n ranks on the machine: a quarter of it, divided by n.
func (m Machine) RankLimit(n int) int64 { return m.Bytes() / 4 / int64(max(1, n)) }

// SharedLimit is the most that all streams on the machine may reserve: 80 % of it.
func (m Machine) SharedLimit() int64 { return m.Bytes() / 5 * 4 }

// DefaultLimit returns the memory of a rank without an explicit limit, on this machine with
// LOCAL_WORLD_SIZE ranks.
func DefaultLimit() int64 { return ThisMachine().RankLimit(LocalWorldSize()) }

// LocalWorldSize returns the number of ranks on this machine from torchrun's environment, or 0.
func LocalWorldSize() int {
	n, err := strconv.Atoi(os.Getenv("LOCAL_WORLD_SIZE"))
	if err != nil || n < 1 {
		return 0
	}
	return n
}

// noLimit is the smallest version 1 limit that means unlimited: the kernel writes the largest
// multiple of a page there.
const noLimit = 1 << 60

// cgroupLimit returns the smallest memory limit of this process's cgroup and its ancestors, of
// either version, or 0. proc(5) and cgroups(7) define the layout of the files.
func cgroupLimit(fsys fs.FS) int64 {
	groups, err := fs.ReadFile(fsys, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	mounts, err := fs.ReadFile(fsys, "proc/self/mountinfo")
	if err != nil {
		return 0
	}
	least := int64(noLimit)
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
			least = min(least, leastUpwards(fsys, m, parts[2], file))
		}
	}
	if least == noLimit {
		return 0
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
	least := int64(noLimit)
	for dir := path.Clean("/" + rel); ; dir = path.Dir(dir) {
		name := strings.TrimPrefix(path.Join(m.point, dir, file), "/")
		least = min(least, readLimit(fsys, name))
		if dir == "/" {
			return least
		}
	}
}

// readLimit returns noLimit for a file that is absent, says "max" or more than any machine has.
func readLimit(fsys fs.FS, name string) int64 {
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return noLimit
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || n <= 0 {
		return noLimit
	}
	return min(n, noLimit)
}

func hasWord(list, word string) bool { return slices.Contains(strings.Split(list, ","), word) }
