//go:build !linux

package term

import "os"

// Elsewhere a pipe is written to as a file is: what it holds when its reader goes away counts as
// taken.
func pipeCapacity(*os.File) int64 { return 0 }

func waitWritable(*os.File) bool { return true }

func unread(*os.File) int64 { return 0 }
