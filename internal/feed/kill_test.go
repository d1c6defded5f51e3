package feed

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"
)

var kills = flag.Int("kills", 12, "trainers that TestServeKill kills")

// trains stands for the socket of the engine that a helper process trains from until it is killed.
const trains = "SHARDFEED_TEST_TRAIN"

func TestHelperTrain(t *testing.T) {
	path := os.Getenv(trains)
	if path == "" {
		t.Skip("not the helper")
	}
	c := dial(t, path)
	if _, err := c.open(opening); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stdout.WriteString("trains\n"); err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		if _, err := c.join(Join{Iteration: fmt.Sprint(os.Getpid(), i)}); err != nil {
			t.Fatal(err)
		}
		for {
			b, end, err := c.batch()
			if err != nil {
				t.Fatal(err)
			}
			if end != nil {
				break
			}
			if len(c.held) > i%3 {
				if err := c.release(b); err != nil {
					t.Fatal(err)
				}
			}
		}
		c.releaseAll(t)
	}
}

func descriptors(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}
	return len(entries)
}

// Trainers that are killed at any moment leave nothing in the engine: no ring, no descriptor, no goroutine, no reservation (which
// serveWares checks).
func TestServeKill(t *testing.T) {
	path := serveWares(t, wares(t, 3, 70, func(id int64) int { return int(id) * 40 }), nil)
	kill := func(seed uint64) {
		cmd := exec.Command(os.Args[0], "-test.run=TestHelperTrain$")
		cmd.Env = append(os.Environ(), trains+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Error(err)
			return
		}
		if err := cmd.Start(); err != nil {
			t.Error(err)
			return
		}
		_, _ = out.Read(make([]byte, 1))
		time.Sleep(time.Duration(rand.New(rand.NewPCG(seed, 1)).IntN(100)) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	kill(0)
	eventually(t, "the first ring is gone", func() bool { return rings(t) == 0 })
	files, goroutines := descriptors(t), runtime.NumGoroutine()
	var all sync.WaitGroup
	for k := range 2 {
		all.Go(func() {
			for i := range *kills / 2 {
				kill(uint64(100*i + k))
			}
		})
	}
	all.Wait()
	eventually(t, "the rings are gone", func() bool { return rings(t) == 0 })
	eventually(t, "the descriptors are gone", func() bool { return descriptors(t) <= files })
	eventually(t, "the goroutines are gone", func() bool { return runtime.NumGoroutine() <= goroutines })
	c, j := openAndJoin(t, path, "after")
	if ids, _ := iterate(t, c, j.Schema, false); len(ids) != int(j.Steps) {
		t.Errorf("%d batches of %d", len(ids), j.Steps)
	}
}
