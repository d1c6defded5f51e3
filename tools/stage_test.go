package tools

import (
	"os"
	"os/exec"
	"strings"
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
