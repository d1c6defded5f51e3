package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

// TestMain lets scripts run this program as the command shardfeed, and fails when goroutines
// outlive the tests.
func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){"shardfeed": shardfeedMain})
}

// statusVariable names a file for /proc/self/status at the end of a command: ru_maxrss counts the
// process that started it too.
const statusVariable = "SHARDFEED_TEST_STATUS"

func shardfeedMain() {
	path := os.Getenv(statusVariable)
	_ = os.Unsetenv(statusVariable)
	code := mainCode()
	if path != "" {
		status, err := os.ReadFile("/proc/self/status")
		if err == nil {
			err = os.WriteFile(path, status, 0o600)
		}
		if err != nil {
			panic(err)
		}
	}
	os.Exit(code)
}

type leakChecked struct{ *testing.M }

func (m leakChecked) Run() int {
	code := m.M.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func TestScripts(t *testing.T) { testscript.Run(t, scriptParams(t, "testdata")) }

// scriptParams are those of the scripts in a directory.
func scriptParams(t *testing.T, dir string) testscript.Params {
	shop, err := filepath.Abs("../../testdata/shop")
	if err != nil {
		t.Fatal(err)
	}
	return testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SHOP", shop)
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else each command waits a second under the race detector
			env.Setenv("SHARDFEED_CACHE_DIR", filepath.Join(env.WorkDir, ".cache"))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"json":  scriptJSON,
			"lines": scriptLines,
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	}
}

// command runs the command in this process.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}
