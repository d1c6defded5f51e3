package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Sockets returns the sockets of this user's engines on this machine: in the directories that
// engines use by default, at SHARDFEED_SOCKET and, on Linux, at any other path. Some may belong to
// engines that have ended.
func Sockets() []string {
	var found []string
	for _, dir := range directories() {
		markers, _ := filepath.Glob(filepath.Join(dir, "*"+markerSuffix))
		for _, m := range markers {
			found = append(found, strings.TrimSuffix(m, markerSuffix))
		}
	}
	found = append(found, listening()...)
	if given := os.Getenv("SHARDFEED_SOCKET"); given != "" {
		found = append(found, given)
	}
	slices.Sort(found)
	return slices.DeleteFunc(slices.Compact(found), func(path string) bool { return !isOwnSocket(path) })
}

// directories are where engines may have their sockets: a job may have another environment than
// this process.
func directories() []string {
	uid := strconv.Itoa(os.Geteuid())
	all := []string{
		givenDir(), ownDir(), filepath.Join("/run/user", uid, "shardfeed"), filepath.Join(os.TempDir(), "shardfeed-"+uid), "/tmp/shardfeed-" + uid,
	}
	return slices.DeleteFunc(all, func(dir string) bool { return dir == "" })
}

// unixSockets lists the Unix sockets of this machine, or of this container.
const unixSockets = "/proc/net/unix"

// listening returns the paths of sockets with an engine's marker beside them.
func listening() (found []string) {
	text, err := os.ReadFile(unixSockets)
	if err != nil { // another system than Linux
		return nil
	}
	for line := range strings.Lines(string(text)) {
		// Num RefCount Protocol Flags Type St Inode Path
		at := strings.Index(line, " /")
		if at < 0 {
			continue
		}
		path := strings.TrimSuffix(line[at+1:], "\n")
		if info, err := os.Lstat(path + markerSuffix); err == nil && isOwn(info) {
			found = append(found, path)
		}
	}
	return found
}

func isOwnSocket(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().Type() == os.ModeSocket && isOwn(info)
}
