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

// Stages that run together fail when one does. Each prints whole when it has ended.
func TestTogether(t *testing.T) {
	fifo := t.TempDir() + "/fifo" // b ends after a has
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	waits, ends := "b 1 sh -c 'echo begins; read x <"+fifo+"; echo ends'", "a 1 sh -c 'echo >"+fifo+"'"
	const b = "== stage b\nbegins\nends\n== stage b: passed\n"
	for _, test := range []struct {
		name   string
		stages []string
		code   int
		says   []string
	}{
		{"all pass", []string{ends, waits}, 0, []string{"== together: a b;", "== stage a\n== stage a: passed\n", b}},
		{"one passes", []string{"a 1 true"}, 0, []string{"== stage a\n== stage a: passed\n"}},
		{"the first fails", []string{"a 1 sh -c 'echo >" + fifo + "; exit 2'", waits}, 1, []string{"== stage a: FAILED (exit 2)\n", b, "== FAILED: a\n"}},
		{"another fails", []string{"a 1 true", "b 1 sh -c 'echo why; exit 3'"}, 1, []string{
			"== stage a\n== stage a: passed\n", "== stage b\nwhy\n== stage b: FAILED (exit 3)\n", "== FAILED: b\n",
		}},
		{"both fail", []string{"a 1 false", "b 1 false"}, 1, []string{"== FAILED: a b\n"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := exec.Command("./together", test.stages...)
			printed, _ := cmd.CombinedOutput()
			out := took.ReplaceAllString(string(printed), "")
			if code := cmd.ProcessState.ExitCode(); code != test.code {
				t.Errorf("exit %d, want %d", code, test.code)
			}
			for _, says := range test.says {
				if !strings.Contains(out, says) {
					t.Errorf("printed %q, want %q", out, says)
				}
			}
		})
	}
}

// A signal ends the stages that run together, and what they said is printed. It is SIGTERM, because
// a shell's background ignores interrupts.
func TestTogetherEnds(t *testing.T) {
	fifo := t.TempDir() + "/fifo"
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("./together", "a 1 sh -c 'echo begins; echo >"+fifo+"; sleep 1000'", "b 1 sleep 1000")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(fifo); err != nil { // the stages run
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var printed []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		printed = append(printed, lines.Text())
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it succeeded")
	}
	if !strings.Contains(strings.Join(printed, "\n"), "begins") {
		t.Errorf("printed %q", printed)
	}
}
