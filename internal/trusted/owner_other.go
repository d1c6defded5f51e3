//go:build !unix

package trusted

import (
	"io/fs"
	"os"
)

const noWait = 0

// checkInfo accepts all: modes say nothing about who can write here, and a user's own directories
// are private.
func checkInfo(string, fs.FileInfo) error { return nil }

func writable(*os.File) bool { return true }
