package cores

import (
	"runtime"
	"sync"
)

var (
	mu    sync.Mutex
	extra int // of GOMAXPROCS, for KeepInC
)

// Number is how many processors the process may use: GOMAXPROCS, which knows the affinity and the
// limits of a container, without what KeepInC added. It is at least 1.
func Number() int {
	mu.Lock()
	defer mu.Unlock()
	return max(1, runtime.GOMAXPROCS(0)-extra)
}

// KeepInC is for a program whose goroutines compute in C for long: it doubles GOMAXPROCS, once.
//
// The Go runtime takes the place of a goroutine that is in C for more than 20 microseconds away
// where all places are taken, and gives it to another thread, which finds nothing to do; then the
// goroutine comes back and waits for that thread. With a place to spare it keeps its own. On two
// cores that decode images it is a fifth of the time. See retake in runtime/proc.go.
func KeepInC() {
	mu.Lock()
	defer mu.Unlock()
	if extra == 0 {
		extra = runtime.GOMAXPROCS(0)
		runtime.GOMAXPROCS(2 * extra)
	}
}
