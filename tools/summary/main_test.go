package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestSummarise(t *testing.T) {
	const passing = `{"Action":"output","Package":"p/a","Test":"TestX","Output":"chatter\n"}
{"Action":"pass","Package":"p/a","Test":"TestX"}
{"Action":"output","Package":"p/a","Output":"PASS\n"}
{"Action":"output","Package":"p/a","Output":"ok  \tp/a\t0.1s\n"}
{"Action":"pass","Package":"p/a"}
`
	const skipping = `{"Action":"output","Package":"p/a","Test":"TestS","Output":"=== RUN   TestS\n"}
{"Action":"output","Package":"p/a","Test":"TestS","Output":"    a_test.go:7: java is missing: the daemons need it\n"}
{"Action":"output","Package":"p/a","Test":"TestS","Output":"--- SKIP: TestS (0.00s)\n"}
{"Action":"skip","Package":"p/a","Test":"TestS"}
`
	const failing = `{"Action":"output","Package":"p/b","Test":"TestF","Output":"    b_test.go:3: wrong\n"}
{"Action":"fail","Package":"p/b","Test":"TestF"}
{"Action":"output","Package":"p/b","Output":"FAIL\tp/b\t0.1s\n"}
{"Action":"fail","Package":"p/b"}
`
	for _, test := range []struct {
		name, in, want string
		failed         bool
	}{
		{"a passing package is one line", passing, "ok  \tp/a\t0.1s\n", false},
		{
			"skips are listed by reason", skipping + strings.ReplaceAll(skipping, "TestS", "TestT") + passing,
			"ok  \tp/a\t0.1s\n\nskipped: 2 tests\n     2  java is missing: the daemons need it (p/a TestS, p/a TestT)\n", false,
		},
		{"a failed test shows its output", failing, "    b_test.go:3: wrong\nFAIL\tp/b\t0.1s\n", true},
		{"a build that fails", `{"ImportPath":"p/c","Action":"build-output","Output":"c.go:1: no\n"}` + "\n" + `{"ImportPath":"p/c","Action":"build-fail"}`, "c.go:1: no\n", true},
		{"a package without tests", `{"Action":"skip","Package":"p/d"}`, "", false},
		{"what is not JSON", "go: downloading x\n", "go: downloading x\n", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			failed, err := Summarise(strings.NewReader(test.in), &out)
			if err != nil || failed != test.failed || out.String() != test.want {
				t.Errorf("failed %t, %v, printed\n%s\nwant failed %t and\n%s", failed, err, out.String(), test.failed, test.want)
			}
		})
	}
}
