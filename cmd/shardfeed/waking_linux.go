package main

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	schedNormal = 0  // SCHED_NORMAL, which no package names
	mostLooks   = 10 // at the threads; sandboxes may say yes and change nothing
)

// wakeGently makes threads of this process take a processor from nobody when they wake
// (SCHED_BATCH). Each slot that a trainer gives back wakes the engine, which would else run in the
// place of the trainer just then. Threads that begin later are as those that begin them. What
// somebody has chosen for the process stays.
func wakeGently() error {
	for look, again := 0, true; again && look < mostLooks; look++ {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		again = false
		for _, task := range tasks {
			tid, err := strconv.Atoi(task.Name())
			if err != nil {
				return err
			}
			changed, err := wakeThreadGently(tid)
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
			again = again || changed // one that was not changed yet may have begun another
		}
	}
	return nil
}

func wakeThreadGently(tid int) (changed bool, err error) {
	a, err := unix.SchedGetAttr(tid, 0)
	if err != nil || a.Policy != schedNormal {
		return false, os.NewSyscallError("sched_getattr", err)
	}
	a.Policy = unix.SCHED_BATCH
	err = unix.SchedSetAttr(tid, a, 0)
	return err == nil, os.NewSyscallError("sched_setattr", err)
}
