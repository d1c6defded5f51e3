package shardfeed

import (
	"bufio"
	"bytes"
	"strings"

	"github.com/shardfeed/shardfeed/internal/regular"
	"github.com/shardfeed/shardfeed/shard"
)

// IsRemote reports whether an address leads to a server: all but those of this machine do.
func IsRemote(address string) bool {
	scheme, _ := shard.SplitScheme(address)
	return scheme != "" && scheme != "file" && scheme != "mem"
}

// AnyRemote reports whether one of the addresses, or of those in the list files that they name,
// leads to a server. A list that cannot be read has none; listing it reports the error.
func AnyRemote(addresses []string) bool {
	for _, address := range addresses {
		list, isList := strings.CutPrefix(address, "@")
		if IsRemote(list) || isList && remoteInList(list) {
			return true
		}
	}
	return false
}

// remoteInList looks for an address of a server in a list file of this machine.
func remoteInList(name string) bool {
	scheme, rest := shard.SplitScheme(name)
	if scheme == "file" {
		name = rest
	}
	file, err := regular.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if line := bytes.TrimSpace(lines.Bytes()); bytes.Contains(line, []byte("://")) && IsRemote(string(line)) {
			return true
		}
	}
	return false
}
