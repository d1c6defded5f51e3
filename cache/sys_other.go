//go:build !linux

package cache

import (
	"errors"
	"os"

	"github.com/shardfeed/shardfeed/internal/trusted"
)

// The cache needs locks that belong to an open file, file systems that keep holes, and mappings
// that all processes share. It is built for Linux alone: elsewhere Open and all else return
// errNoCache before any of these is called.
var (
	errBusy    = errors.New("locked by another")
	errNoCache = errors.Join(ErrUnfit, errors.New("the cache works on Linux alone"))
)

func allocate(*os.File, int64) error                       { return errNoCache }
func createUnnamed(*os.File) (*os.File, error)             { return nil, errNoCache }
func nameIt(*os.File, *os.File, string) error              { return errNoCache }
func share(*os.File) error                                 { return errNoCache }
func own(*os.File) error                                   { return errNoCache }
func disown(*os.File) error                                { return errNoCache }
func lockRange(*os.File, int64, int64) error               { return errNoCache }
func unlockRange(*os.File, int64, int64) error             { return errNoCache }
func lockedElsewhere(*os.File, int64, int64) (bool, error) { return false, errNoCache }
func mapHead(*os.File, int64, bool) ([]byte, error)        { return nil, errNoCache }
func mapData(*os.File, int64, int64) ([]byte, error)       { return nil, errNoCache }
func readAhead([]byte, int64, int64) bool                  { return false }
func bringIn([]byte, int64, int64)                         {}
func letGo([]byte, int64, int64)                           {}
func letGoUsed([]byte)                                     {}
func unmap([]byte)                                         {}

type fileState struct {
	size, allocated int64
	links           uint64
	device, inode   uint64
	modified        int64
}

func stateOf(*os.File) (fileState, error)             { return fileState{}, errNoCache }
func stateAt(*trusted.Dir, string) (fileState, error) { return fileState{}, errNoCache }

type diskState struct {
	kind        uint32
	unit        int64
	total, free int64
}

func diskOf(string) (diskState, error) { return diskState{}, errNoCache }

func noSpace(error) bool      { return false }
func tooManyFiles(error) bool { return false }
func notAllowed(error) bool   { return false }
