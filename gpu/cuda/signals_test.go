//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSignals sends signals to every thread of the process while it copies, those of the driver
// too, which Go has not made.
func TestSignals(t *testing.T) {
	eachDriver(t, func(t *testing.T, r *rig) {
		dev := r.open(0)
		caught := make(chan os.Signal, 1)
		signal.Notify(caught, unix.SIGUSR1) // never stopped: a thread that got no processor yet has its signal to come, which would end the process
		var sender sync.WaitGroup
		var sent, rounds int
		var stop atomic.Bool
		sender.Go(func() {
			for ; !stop.Load(); time.Sleep(200 * time.Microsecond) {
				sent += signalThreads(t, unix.SIGUSR1) + signalThreads(t, unix.SIGURG)
			}
		})
		for begin := time.Now(); time.Since(begin) < 200*time.Millisecond; rounds++ {
			r.must(copyOnce(dev, rounds))
		}
		stop.Store(true)
		sender.Wait()
		select {
		case <-caught:
		case <-time.After(time.Minute):
			t.Error("no signal arrived")
		}
		t.Logf("%d signals in %d rounds", sent, rounds)
	})
}

// signalThreads signals each thread and returns how many there are.
func signalThreads(t *testing.T, s unix.Signal) int {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Error(err)
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			t.Error(err)
		}
		_ = unix.Tgkill(os.Getpid(), id, s) // which may be gone by now
	}
	return len(threads)
}
