package main

import (
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
		{"cat x --rank 2 --world-size 2", "--rank 2 is not below --world-size 2"},
		{"cat x --rank 1", "--rank 1 is not below --world-size 1"},
		{"cat x --rank -1 --world-size 2", "--rank -1: must be at least 0"},
		{"cat x --world-size 0", "--world-size 0: must be at least 1"},
		{"cat x --epoch -1", "--epoch -1: must be at least 0"},
		{"cat x --epochs 0", "--epochs 0: must be at least 1"},
		{"cat x --seed -1", "--seed -1 is below 0"},
		{"cat x --limit -1", "must not be below 0"},
		{"cat x --limit ten", "is no number of rows"},
		{"cat x --memory much", `got "much"`},
		{"cat x --memory 0", "must be more than 0"},
		{"cat x --shuffle-buffer 100", "--shuffle-buffer says how to shuffle: add --shuffle"},
		{"cat x --lanes 8", "--lanes says how to shuffle: add --shuffle"},
		{"cat x --shuffle --lanes 0", "--lanes 0: must be at least 1"},
		{"cat x --shuffle --start slow", `--start must be "filled" or "direct", got "slow"`},
		{"cat x --shuffle --world-size 4 --max-world-size 2", "--max-world-size 2 is below --world-size 4"},
		{"cat x --columns=", "--columns names no column"},
		{"cat x --missing maybe", `--missing must be "error" or "null", got "maybe"`},
		{"cat x --invalid-utf8 keep", `--invalid-utf8 must be "refuse" or "replace", got "keep"`},
		{"cat x --format csv", "--format csv: jsonl is the only one so far"},
		{"cat x --worker 2 --workers 2", "--worker 2 is not below --workers 2"},
		{"cat x --workers 0", "--workers 0: must be at least 1"},
		{"cat x --workers 2 --save-state s", "--save-state is for whole ranks"},
		{"cat x --batch-size 2", "unknown flag: --batch-size"},
		{"bench x --batch-size 0", "--batch-size 0: must be at least 1"},
		{"bench x --tail keep", `--tail must be "drop", "pad", "short" or "carry", got "keep"`},
		{"bench x --limit 0", "--limit 0 leaves nothing to measure"},
		{"bench x --batch-size 9223372036854775807 --world-size 4", "--batch-size must be at most 2147483647, got 9223372036854775807"},
		{"cat x --world-size 40000", "--world-size must be at most 32768, got 40000"},
		{"cat x --shuffle --max-world-size 40000", "--max-world-size must be at most 32768, got 40000"},
		{"cat x --shuffle --lanes 70000", "--lanes must be at most 65536, got 70000"},
		{"plan x --world-size -3", "--world-size -3: must be at least 1"},
		{"demo --size none", `got "none"`},
		{"cat x --endpoint-url host:9000", "--endpoint-url host:9000: must begin with http:// or https://"},
		{"cat x --endpoint-url=", "--endpoint-url is empty"},
		{"cat x --request-payer me", "--request-payer me: must be requester"},
		{"cat x --no-sign-request --profile p", "--no-sign-request reads without credentials, --profile names some"},
		{"cat x --storage-option anon", "give key=value or @FILE.json"},
		{"cat x --storage-option nonsense=1", `storage option "nonsense" is not known; known are `},
		{"cat x --storage-option anon=perhaps", `storage option "anon"`},
		{"cat x --storage-option hdfs.nonsense=1", "hdfs.nonsense"},
		{"cat x --keytab=", "--keytab is empty"},
		{"cat x --cache-dir=", "--cache-dir is empty"},
		{"cat x --cache-limit much", "--cache-limit cannot be used: "},
		{"cat x --cache-limit 0%", "--cache-limit cannot be used: "},
		{"cat x --cache-policy random", `--cache-policy must be "keep" or "lru", got "random"`},
		{"cat x --no-cache --cache-limit 1GiB", "--no-cache keeps nothing: leave out the limit and the policy"},
		{"inspect x --region=", "--region is empty"},
		{"doctor x --request-payer me", "--request-payer me: must be requester"},
		{"warm x --rank 2 --world-size 2", "--rank 2 is not below --world-size 2"},
		{"warm x --no-cache", "unknown flag: --no-cache"},
		{"warm", "warm needs an address"},
		{"cache nonsense", `cache has no verb "nonsense"`},
		{"cache ls x", "unknown command"},
		{"cache gc --older-than 7", `"7" is no age`},
		{"cache gc --to all", `got "all"`},
		{"gpu --device tpu", `"tpu" is no device: give auto, host, cuda or cuda:N`},
		{"gpu --device cuda:first", `"cuda:first" is no device: devices of CUDA count from cuda:0`},
		{"gpu --measure -1s", "--measure -1s: must not be below 0"},
		{"gpu x", `unknown command "x"`},
		{"bench x --device=", "is no device"},
		{"help nonsense", "there is no help about"},
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

func TestWrongFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--seed x":                    "--seed x is no whole number",
		"--seed -1":                   "--seed -1 is below 0",
		"--seed 18446744073709551616": "--seed 18446744073709551616 is out of range",
		"--rank 1e3":                  "--rank 1e3 is no whole number",
		"--shuffle=perhaps":           "--shuffle perhaps is neither true nor false",
		"--limit x":                   `"x" is no number of rows`,
	} {
		code, stdout, stderr := command(t, append([]string{"cat", "nowhere"}, strings.Fields(args)...)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, want) || strings.Contains(stderr, "strconv") {
			t.Errorf("%s: exit %d, %q", args, code, stderr)
		}
	}
}
