package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/shardfeed/shardfeed/internal/fakecuda"
)

// TestGPUScripts runs the command on the fake driver, whose report after each says that no rule was
// broken and nothing was left.
func TestGPUScripts(t *testing.T) {
	shop, err := filepath.Abs("../../testdata/shop")
	if err != nil {
		t.Fatal(err)
	}
	library := fakecuda.Open(t).Library
	testscript.Run(t, testscript.Params{
		Dir: "testdata/gpu",
		Setup: func(env *testscript.Env) error {
			env.Setenv("SHOP", shop)
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			env.Setenv("SHARDFEED_CACHE_DIR", filepath.Join(env.WorkDir, ".cache"))
			env.Setenv("SHARDFEED_LIBCUDA", library)
			env.Setenv("FAKECUDA_REPORT", filepath.Join(env.WorkDir, "report"))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"json":   scriptJSON,
			"lines":  scriptLines,
			"report": scriptReport,
		},
	})
}

// scriptReport is "report [KEY=VALUE...]": in what the fake driver counted in the last process each
// key's value prints as VALUE, and the process broke no rule and gave everything back.
func scriptReport(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile("report")
	var counts fakecuda.Counts
	var values map[string]json.RawMessage
	for _, into := range []any{&counts, &values} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			ts.Fatalf("the driver's report: %v\n%s", err, text)
		}
	}
	if wrong := append(counts.Violations, counts.Leaks()...); len(wrong) > 0 {
		ts.Fatalf("the driver saw:\n%s", strings.Join(wrong, "\n"))
	}
	for _, arg := range args {
		key, want, _ := strings.Cut(arg, "=")
		if got := string(values[key]); (got == want) == neg {
			ts.Fatalf("%s is %s, want %s%s", key, got, map[bool]string{true: "not "}[neg], want)
		}
	}
}

// Whatever the memory that batches come from, training reads the same bytes.
func TestDeviceBytes(t *testing.T) {
	t.Setenv("SHARDFEED_LIBCUDA", fakecuda.Open(t).Library)
	for _, args := range [][]string{{"--batch-size", "64"}, {"--shuffle", "--batch-size", "100", "--epochs", "2"}} {
		t.Run(fmt.Sprint(args), func(t *testing.T) {
			var plain measurement
			object(t, &plain, append([]string{"bench", "../../testdata/shop", "--json"}, args...)...)
			for _, device := range []string{"host", "cuda:0"} {
				var m measurement
				object(t, &m, append([]string{"bench", "../../testdata/shop", "--json", "--device", device}, args...)...)
				got := fmt.Sprint(m.Rows, m.Batches, m.DecodedBytes)
				if want := fmt.Sprint(plain.Rows, plain.Batches, plain.DecodedBytes); got != want {
					t.Errorf("%s on %s: rows, batches, bytes are %s, want %s", args, device, got, want)
				}
				if m.Device.Copied < m.DecodedBytes || m.Device.HostCopied != 0 {
					t.Errorf("%s on %s: %+v of %d bytes", args, device, m.Device, m.DecodedBytes)
				}
			}
		})
	}
}
