package main

import (
	"bufio"
	"bytes"
	"os"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// far reports whether an address leads to a server: all but those of this machine do.
func isRemote(address string) bool { return isRemoteScheme(shard.Scheme(address)) }

func isRemoteScheme(scheme string) bool {
	switch scheme {
	case "", "file", "mem":
		return false
	}
	return true
}

// anyRemote reports whether one of the addresses, or of those in the list files that they name, leads to a server. A list that cannot be read
// holds none; whoever lists it says what is wrong.
func anyRemote(addresses []string) bool {
	for _, address := range addresses {
		list, isList := strings.CutPrefix(address, "@")
		if isRemote(list) || isList && remoteInList(list) {
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
	file, err := os.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if line := bytes.TrimSpace(lines.Bytes()); bytes.Contains(line, []byte("://")) && isRemote(string(line)) {
			return true
		}
	}
	return false
}
