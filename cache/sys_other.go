//go:build !linux

package cache

import (
	"errors"
	"io/fs"
	"os"
)

// The cache needs locks that belong to an open file, file systems that keep holes, and mappings
// that all processes share. It only works on Linux: elsewhere Open and the other functions return
// errNoCache before any of these is called.
var (
	errBusy    = errors.New("locked by another")
	errNoCache = errors.Join(ErrUnfit, errors.New("the cache only works on Linux"))
)

func allocate(*os.File, int64) error                       { return errNoCache }
func punchHole(*os.File, int64, int64) error               { return errNoCache }
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

func openLimit() int { return 0 }

func allocated(fs.FileInfo) int64 { return 0 }
func changedAt(fs.FileInfo) int64 { return 0 }
func isLinked(fs.FileInfo) bool   { return true }

type diskState struct {
	kind        uint32
	unit        int64
	total, free int64
}

func diskOf(string) (diskState, error) { return diskState{}, errNoCache }

func noSpace(error) bool      { return false }
func tooManyFiles(error) bool { return false }
func notAllowed(error) bool   { return false }
