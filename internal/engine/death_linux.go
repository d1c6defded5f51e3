package engine

import (
	"os"

	"golang.org/x/sys/unix"
)

// onDeath calls gone when the process has ended. The socket shows it too, unless a forked child
// holds it as well. stop waits for gone if it is being called. Nothing is watched on kernels
// without pidfds (before 5.3), or if the process is not visible.
func onDeath(pid int, gone func()) (stop func()) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH { // it has ended already
		gone()
	}
	if err != nil {
		return func() {}
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return func() {}
	}
	file := os.NewFile(uintptr(fd), "pidfd")
	raw, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return func() {}
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if err := raw.Read(hasEnded); err == nil {
			gone()
		}
	}()
	return func() {
		_ = file.Close()
		<-watched
	}
}

func hasEnded(fd uintptr) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return err == nil && n > 0
}
