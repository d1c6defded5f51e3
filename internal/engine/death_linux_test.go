package engine

import (
	"os/exec"
	"testing"
	"time"
)

// A process that has ended before it is watched is gone at once; one that lives is watched until it
// ends, or until it is stopped.
func TestOnDeath(t *testing.T) {
	sleeper := func() *exec.Cmd {
		c := exec.Command("sleep", "60")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	end := func(c *exec.Cmd) {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	dead := sleeper()
	end(dead)
	gone := make(chan struct{}, 1)
	onDeath(dead.Process.Pid, func() { gone <- struct{}{} })()
	select {
	case <-gone:
	default:
		t.Error("a process that has ended is not gone")
	}

	c := sleeper()
	stop := onDeath(c.Process.Pid, func() { gone <- struct{}{} })
	time.Sleep(10 * time.Millisecond)
	if len(gone) != 0 {
		t.Error("a process that lives is gone")
	}
	end(c)
	select {
	case <-gone:
	case <-time.After(patience):
		t.Error("the end of a process was not seen")
	}
	stop()

	c = sleeper()
	stop = onDeath(c.Process.Pid, func() { gone <- struct{}{} })
	stop()
	end(c)
	if len(gone) != 0 {
		t.Error("the end is told to who did not want to know")
	}
}
