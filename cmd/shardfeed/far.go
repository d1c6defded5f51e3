package main

import (
	"bufio"
	"bytes"
	"os"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// far reports whether an address leads to a server: all but those of this machine do.
func far(address string) bool { return farScheme(shard.Scheme(address)) }

func farScheme(scheme string) bool {
	switch scheme {
	case "", "file", "mem":
		return false
	}
	return true
}

// anyFar reports whether one of the addresses, or of those in the list files that they name, leads to a server. A list that cannot be read
// holds none; whoever lists it says what is wrong.
func anyFar(addresses []string) bool {
	for _, address := range addresses {
		list, isList := strings.CutPrefix(address, "@")
		if far(list) || isList && farInList(list) {
			return true
		}
	}
	return false
}

// farInList looks for an address of a server in a list file of this machine.
func farInList(name string) bool {
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
		if line := bytes.TrimSpace(lines.Bytes()); bytes.Contains(line, []byte("://")) && far(string(line)) {
			return true
		}
	}
	return false
}
