package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// Each command line is refused before anything is read, with one line that names the flag.
func TestUsageErrors(t *testing.T) {
	cases := []struct{ args, want string }{
		{"nonsense", `unknown command "nonsense"`},
		{"--nonsense", "unknown flag: --nonsense"},
		{"cat", "cat needs an address"},
		{"inspect", "inspect needs an address"},
		{"cat x ''", "an address is empty"},
		{"demo data/", "unknown command"},
		{"cat x --rank 2 --world-size 2", "--rank must be below --world-size 2, got 2"},
		{"cat x --rank 1", "--rank must be below --world-size 1, got 1"},
		{"cat x --rank -1 --world-size 2", "--rank must be at least 0, got -1"},
		{"cat x --world-size 0", "--world-size must be at least 1, got 0"},
		{"cat x --epoch -1", "--epoch must be at least 0, got -1"},
		{"cat x --epochs 0", "--epochs must be at least 1, got 0"},
		{"cat x --seed -1", `--seed must be a whole number from 0 to 2^64 - 1, got "-1"`},
		{"cat x --seed 7", "--seed has no effect without --shuffle: add it"},
		{"cat x --columns id,,label", `--columns must be names with commas between them, got "id,,label"`},
		{"cat x --limit -1", `--limit must be a number of rows of at least 0, got "-1"`},
		{"cat x --limit ten", `--limit must be a number of rows of at least 0, got "ten"`},
		{"cat x --memory much", `--memory must be bytes, as in 512MiB, 1.5GiB, 1GB or 1048576, got "much"`},
		{"cat x --memory 0", "--memory must be above 0, got 0"},
		{"demo --memory=", `--memory must not be empty, got ""`},
		{"demo --shuffle-buffer=", `--shuffle-buffer must not be empty, got ""`},
		{"demo --memory much", `--memory must be bytes, as in 512MiB, 1.5GiB, 1GB or 1048576, got "much"`},
		{"cat x --shuffle-buffer 100", "--shuffle-buffer has no effect without --shuffle: add it"},
		{"cat x --lanes 8", "--lanes has no effect without --shuffle: add it"},
		{"cat x --shuffle --lanes 0", "--lanes must be at least 1, got 0"},
		{"cat x --shuffle --start slow", `--start must be filled or direct, got "slow"`},
		{"cat x --shuffle --world-size 4 --max-world-size 2", "--max-world-size must be at least --world-size 4, got 2"},
		{"cat x --columns=", "--columns must be names with commas between them"},
		{"cat x --missing maybe", `--missing must be error or null, got "maybe"`},
		{"cat x --invalid-utf8 keep", `--invalid-utf8 must be refuse or replace, got "keep"`},
		{"cat x --format parquet", `--format must be jsonl, csv or arrow, got "parquet"`},
		{"cat x --worker 2 --workers 2", "--worker must be at least 0 and below --workers 2, got 2"},
		{"cat x --workers 0", "--workers must be at least 1, got 0"},
		{"cat x --workers 2 --save-state s", "--save-state saves the state of a whole rank: leave out --workers"},
		{"head x --batch-size 2", "unknown flag: --batch-size"},
		{"bench x --batch-size 0", "--batch-size must be at least 1, got 0"},
		{"bench x --tail keep", `--tail must be drop, pad, short or carry, got "keep"`},
		{"bench x --limit 0", "--limit must be at least 1, got 0"},
		{"bench x --batch-size 9223372036854775807 --world-size 4", "--batch-size must be at most 2147483647, got 9223372036854775807"},
		{"cat x --world-size 40000", "--world-size must be at most 32768, got 40000"},
		{"cat x --shuffle --max-world-size 40000", "--max-world-size must be at most 32768, got 40000"},
		{"cat x --shuffle --lanes 70000", "--lanes must be at most 65536, got 70000"},
		{"plan x --world-size -3", "--world-size must be at least 1, got -3"},
		{"cat x --memory none", `--memory must be bytes, as in 512MiB, 1.5GiB, 1GB or 1048576, got "none"`},
		{"cat x --endpoint-url host:9000", `--endpoint-url must begin with http:// or https://, got "host:9000"`},
		{"cat x --endpoint-url=", `--endpoint-url must not be empty, got ""`},
		{"cat x --request-payer me", `--request-payer must be requester, got "me"`},
		{"cat x --no-sign-request --profile p", "--no-sign-request reads without credentials and --profile names some"},
		{"cat x --storage-option anon", "--storage-option must be key=value or @FILE.json (see"},
		{"cat x --storage-option nonsense=1", `storage option "nonsense" is not known; known are `},
		{"cat x --storage-option anon=perhaps", `storage option "anon"`},
		{"cat x --storage-option hdfs.nonsense=1", "hdfs.nonsense"},
		{"cat x --keytab=", `--keytab must not be empty, got ""`},
		{"cat x --cache-dir=", `--cache-dir must be a directory, got ""`},
		{"cat x --cache-limit much", `--cache-limit must be bytes, as in 100GiB, or a part of the free space, as in 50%, got "much"`},
		{"cat x --cache-limit 0%", `--cache-limit must be above 0% and at most 100%, got "0%"`},
		{"cat x --cache-policy random", `--cache-policy must be "keep", "keep=" and how long after the last use, as in "keep=7d" or "keep=36h", or "lru", got "random"`},
		{"cat x --no-cache --cache-limit 1GiB", "--no-cache keeps nothing: leave out --cache-limit, --decoded-limit and --cache-policy"},
		{"inspect x --region=", `--region must not be empty, got ""`},
		{"doctor x --request-payer me", `--request-payer must be requester, got "me"`},
		{"warm x --rank 2 --world-size 2", "--rank must be below --world-size 2, got 2"},
		{"warm x --no-cache", "unknown flag: --no-cache"},
		{"warm", "warm needs an address"},
		{"cache nonsense", `unknown command "nonsense" for "shardfeed cache"`},
		{"cache ls x", "unknown command"},
		{"cache gc --older-than 7", `--older-than must be days, hours or minutes, as in 7d, 36h or 90m, got "7"`},
		{"cache gc --to all", `--to must be bytes, as in 512MiB, 1.5GiB, 1GB or 1048576, got "all"`},
		{"gpu --device tpu", `--device must be auto, host, cuda or cuda:N, got "tpu"`},
		{"gpu --device cuda:first", `--device must be cuda:N with N from 0, got "cuda:first"`},
		{"gpu --measure -1s", "--measure must be at least 0s, got -1s"},
		{"gpu x", `unknown command "x"`},
		{"bench x --device=", `--device must be auto, host, cuda or cuda:N, got ""`},
		{"help nonsense", "unknown help topic"},
		{"completion", "completion needs a shell"},
		{"completion tcsh", `unknown command "tcsh"`},
	}
	for _, c := range cases {
		t.Run(c.args, func(t *testing.T) {
			args := strings.Fields(c.args)
			for i := range args {
				args[i] = strings.Trim(args[i], "'")
			}
			code, stdout, stderr := command(t, args...)
			if code != exitUsage || stdout != "" {
				t.Errorf("exit %d, stdout %q", code, stdout)
			}
			if !strings.HasPrefix(stderr, "shardfeed: ") || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("stderr %q, want %q", stderr, c.want)
			}
			if !strings.Contains(stderr, "--help'") {
				t.Errorf("stderr %q gives no hint", stderr)
			}
		})
	}
}

// TestColumnsWithSpaces: names may stand behind a comma and a space.
func TestColumnsWithSpaces(t *testing.T) {
	_, want, _ := command(t, "cat", shop, "--columns", "unique_id,label", "--limit", "3")
	code, got, stderr := command(t, "cat", shop, "--columns", "unique_id, label", "--limit", "3")
	if code != 0 || got != want || want == "" {
		t.Errorf("exit %d, %q, %s", code, got, stderr)
	}
}

// TestMisspeltColumns: all of them are named at once.
func TestMisspeltColumns(t *testing.T) {
	code, _, stderr := command(t, "cat", shop, "--columns", "unique_id,titel,pric")
	if code != exitFailed || !strings.Contains(stderr, `"titel"`) || !strings.Contains(stderr, `"pric"`) {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

func TestWrongFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--seed x":                    `--seed must be a whole number from 0 to 2^64 - 1, got "x"`,
		"--seed -1":                   `--seed must be a whole number from 0 to 2^64 - 1, got "-1"`,
		"--seed 18446744073709551616": `--seed must be a whole number from 0 to 2^64 - 1, got "18446744073709551616"`,
		"--rank 1e3":                  `--rank must be a whole number, got "1e3"`,
		"--shuffle=perhaps":           `--shuffle must be true or false, got "perhaps"`,
		"--limit x":                   `--limit must be a number of rows of at least 0, got "x"`,
	} {
		t.Run(args, func(t *testing.T) {
			code, stdout, stderr := command(t, append([]string{"cat", "nowhere"}, strings.Fields(args)...)...)
			if code != exitUsage || stdout != "" || !strings.Contains(stderr, want) || strings.Contains(stderr, "strconv") {
				t.Errorf("exit %d, %q", code, stderr)
			}
		})
	}
}

// TestMistypedSecret: what stands where key=value should stand may be a secret, and no error shows
// it.
func TestMistypedSecret(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "secret.json"), `"wJalrXUtnFEMI/K7MDENG"`)
	write(t, filepath.Join(dir, "secret.txt"), `wJalrXUtnFEMI/K7MDENG`)
	for _, given := range []string{
		"wJalrXUtnFEMI/K7MDENG", "secret:wJalrXUtnFEMI/K7MDENG", "=wJalrXUtnFEMI", "secret wJalrXUtnFEMI=", "wJalrXUtnFEMI/K7MDENG=",
		"@" + filepath.Join(dir, "secret.json"), "@" + filepath.Join(dir, "secret.txt"), "@" + filepath.Join(dir, "none.json"),
	} {
		t.Run(filepath.Base(given), func(t *testing.T) {
			code, stdout, stderr := command(t, "cat", "x", "--storage-option", given)
			if code != exitUsage || stdout != "" || strings.Contains(stderr, "wJalr") || !strings.HasPrefix(stderr, "shardfeed: --storage-option ") {
				t.Errorf("exit %d, %q", code, stderr)
			}
			if len(stderr) > 300 {
				t.Errorf("the error has %d bytes", len(stderr))
			}
		})
	}
}
