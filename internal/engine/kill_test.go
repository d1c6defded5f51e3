package engine

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

var (
	kills = flag.Int("kills", 12, "trainers that TestServeKill kills")
	lives = flag.Int("lives", 6, "connections of each trainer of TestServeMany")
)

// trains stands for the socket of the engine that a helper process trains from until it is killed.
const trains = "SHARDFEED_TEST_TRAIN"

// heirs makes the helper give its socket to a child, as a fork does.
const heirs = "SHARDFEED_TEST_HEIRS"

func inherit(t *testing.T, c *testClient) int {
	t.Helper()
	file, err := c.conn.File()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "60")
	cmd.ExtraFiles = []*os.File{file}
	if err := errors.Join(cmd.Start(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func TestHelperTrain(t *testing.T) {
	path := os.Getenv(trains)
	if path == "" {
		t.Skip("not the helper")
	}
	c := dial(t, path)
	if _, err := c.open(opening); err != nil {
		t.Fatal(err)
	}
	child := 0
	if os.Getenv(heirs) != "" {
		child = inherit(t, c)
	}
	if _, err := fmt.Printf("trains %d\n", child); err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		if _, err := c.join(wire.Join{Iteration: fmt.Sprint(os.Getpid(), i)}); err != nil {
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

// startTrainer starts a helper and returns what it says of its child.
func startTrainer(t testing.TB, path string, env ...string) (cmd *exec.Cmd, child int) {
	t.Helper()
	cmd = exec.Command(os.Args[0], "-test.run=TestHelperTrain$")
	cmd.Env = append(append(os.Environ(), trains+"="+path), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Error(err)
		return nil, 0
	}
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return nil, 0
	}
	if _, err := fmt.Fscanf(out, "trains %d\n", &child); err != nil {
		t.Error(err)
	}
	return cmd, child
}

// A trainer's children that were forked keep its socket open and not its ring.
func TestServeKillParent(t *testing.T) {
	path := serveWares(t, wares(t, 3, 70, noImages), nil)
	cmd, child := startTrainer(t, path, heirs+"=1")
	if cmd == nil {
		return
	}
	defer func() { _ = syscall.Kill(child, syscall.SIGKILL) }()
	eventually(t, "the trainer has its ring", func() bool { return rings(t) > 0 })
	_ = cmd.Process.Kill()
	eventually(t, "the ring is gone", func() bool { return rings(t) == 0 })
	if err := syscall.Kill(child, 0); err != nil {
		t.Errorf("the child: %v", err)
	}
	_ = cmd.Wait()
}

// Trainers that are killed at any moment leave nothing in the engine: no ring, no descriptor, no
// goroutine, no reservation (which serveWares checks).
func TestServeKill(t *testing.T) {
	path := serveWares(t, wares(t, 3, 70, func(id int64) int { return int(id) * 40 }), nil)
	kill := func(seed uint64) {
		cmd, _ := startTrainer(t, path)
		if cmd == nil {
			return
		}
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
