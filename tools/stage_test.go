package tools

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// A stage has a time limit in CI and nowhere else, and its exit code is the command's.
func TestStage(t *testing.T) {
	const overBudget = "0.001" // minutes; sleep takes longer
	for _, test := range []struct {
		name, ci string
		args     []string
		code     int
		says     string
	}{
		{"no limit outside of CI", "", []string{overBudget, "sleep", "0.1"}, 0, "passed"},
		{"no limit with another CI", "1", []string{overBudget, "sleep", "0.1"}, 0, "passed"},
		{"a limit in CI", "true", []string{overBudget, "sleep", "60"}, 124, "stopped"},
		{"within the limit", "true", []string{"1", "true"}, 0, "passed"},
		{"a failure in CI", "true", []string{"1", "sh", "-c", "exit 3"}, 3, "FAILED"},
		{"a failure", "", []string{"1", "sh", "-c", "exit 3"}, 3, "FAILED"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := exec.Command("./stage", append([]string{"name"}, test.args...)...)
			cmd.Env = append(os.Environ(), "CI="+test.ci)
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != test.code || !strings.Contains(string(out), test.says) {
				t.Errorf("exit %d, printed %q, want exit %d and %q", code, out, test.code, test.says)
			}
		})
	}
}

// took is how long a stage took.
var took = regexp.MustCompile(` (in|after) \d+ min \d+ s`)

// Stages that run together fail when one does, and print one after the other.
func TestTogether(t *testing.T) {
	const slow = "sh -c 'echo begins; sleep 0.1; echo ends'"
	for _, test := range []struct {
		name   string
		stages []string
		code   int
		says   string // the lines of the stages after the first
	}{
		{"all pass", []string{"a 1 true", "b 1 " + slow, "c 1 " + slow}, 0, "== stage b\nbegins\nends\n== stage b: passed\n== stage c\nbegins\nends\n"},
		{"the first fails", []string{"a 1 false", "b 1 " + slow}, 1, "== stage b\nbegins\nends\n== stage b: passed"},
		{"another fails", []string{"a 1 true", "b 1 sh -c 'echo why; exit 3'"}, 1, "== stage b\nwhy\n== stage b: FAILED (exit 3)\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := exec.Command("./together", test.stages...)
			printed, _ := cmd.CombinedOutput()
			out := took.ReplaceAllString(string(printed), "")
			if code := cmd.ProcessState.ExitCode(); code != test.code || !strings.Contains(out, test.says) {
				t.Errorf("exit %d, printed %q, want exit %d and %q", code, out, test.code, test.says)
			}
		})
	}
}

// A signal ends the stages that run together. It is SIGTERM, because a shell's background ignores
// interrupts.
func TestTogetherEnds(t *testing.T) {
	cmd := exec.Command("./together", "a 1 sh -c 'echo begins; sleep 1000'", "b 1 sleep 1000")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "begins" {
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it succeeded")
	}
}
