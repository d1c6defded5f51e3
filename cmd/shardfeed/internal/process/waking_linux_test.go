package process

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// An engine's threads are all gentle, also later ones, and keep their nice value. It is
// a process of its own: the threads of this one stay as they are.
func TestEngineWakesGently(t *testing.T) {
	if os.Getenv("SHARDFEED_TEST_WAKING") == "" {
		command := exec.Command("nice", "-n", "3", os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
		command.Env = append(os.Environ(), "SHARDFEED_TEST_WAKING=1")
		if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	if err := WakeGently(); err != nil {
		t.Fatal(err)
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil || len(tasks) < 2 {
		t.Fatal(len(tasks), err)
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		if a, err := unix.SchedGetAttr(tid, 0); err == nil && (a.Policy != unix.SCHED_BATCH || a.Nice < 3) {
			t.Errorf("thread %d: policy %d, nice %d", tid, a.Policy, a.Nice)
		}
	}
}
