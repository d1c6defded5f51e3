package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A state or plan is written where the next run does not take it for a shard, and is refused
// elsewhere before the first row.
func TestSaveApart(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(shop, "part-00000.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	const refusedAsShard, refusedName = "would take it for a shard", "must not have the name of a shard"
	for _, c := range []struct {
		address, shard, file string
		strict               bool
		refused              string
	}{
		{"data", "a.parquet", "data/new.parquet", false, refusedAsShard},
		{"data", "a.parquet", "data/state", false, refusedAsShard},
		{"data/", "deep/a.parquet", "data/other/state", false, refusedAsShard},
		{"data", "a.parquet", "data/state.json", false, ""},
		{"data", "a.parquet", "data/state.json", true, refusedAsShard},
		{"data", "000000_0", "data/state.json", false, refusedAsShard},
		{"data", "a.parquet", "data/.state", false, ""},
		{"data", "a.parquet", "data/_states/state", false, ""},
		{"data/*.parquet", "a.parquet", "data/new.parquet", false, refusedAsShard},
		{"data/*.parquet", "a.parquet", "data/state", false, ""},
		{"data/a.parquet", "a.parquet", "data/state", false, ""},
		{"data/a.parquet", "a.parquet", "data/new.parquet", false, refusedName},
		{"data", "a.parquet", "state", false, ""},
		{"data", "a.parquet", "NEW.PARQUET", false, refusedName},
	} {
		for verb, flag := range map[string]string{"cat": "--save-state", "plan": "--save"} {
			name := strings.Join([]string{verb, c.address, c.shard, c.file}, " ")
			t.Run(name, func(t *testing.T) {
				t.Chdir(t.TempDir())
				write(t, filepath.Join("data", c.shard), string(content))
				if err := os.MkdirAll(filepath.Dir(c.file), 0o755); err != nil {
					t.Fatal(err)
				}
				args := []string{verb, c.address}
				if c.strict {
					args = append(args, "--strict")
				}
				code, stdout, stderr := command(t, append(args, flag, c.file)...)
				_, missing := os.Stat(c.file)
				if c.refused == "" {
					if code != 0 || missing != nil {
						t.Errorf("exit %d, %s, %v", code, stderr, missing)
					}
				} else if code != exitUsage || stdout != "" || missing == nil || !strings.Contains(stderr, flag+" "+c.file) || !strings.Contains(stderr, c.refused) {
					t.Errorf("exit %d, %s; the file: %v", code, stderr, missing)
				}
				if code, _, stderr := command(t, args...); code != 0 {
					t.Errorf("the next run: exit %d, %s", code, stderr)
				}
			})
		}
	}
}
