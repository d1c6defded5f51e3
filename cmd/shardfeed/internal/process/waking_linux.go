package process

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

// WakeGently keeps threads of this process from preempting others when they wake (SCHED_BATCH).
// Each slot that a trainer releases wakes the engine, which would otherwise preempt the trainer.
// New threads inherit the policy. A policy that was chosen for the process stays.
func WakeGently() error {
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
