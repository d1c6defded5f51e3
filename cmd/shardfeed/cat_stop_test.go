package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// stopCat runs cat with --save-state into a pipe, reads exactly so many lines of it, and then ends
// it as stop says. It returns the exit code, all that could be read, and the file of the state.
func stopCat(t *testing.T, lines int, stop func(r *os.File, cancel context.CancelCauseFunc), args ...string) (code int, read, stderr, state string) {
	t.Helper()
	state = filepath.Join(t.TempDir(), "state")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	done := make(chan int)
	var errs bytes.Buffer
	go func() {
		done <- run(ctx, append([]string{"cat", shop, "--save-state", state, "--epochs", "1000"}, args...), strings.NewReader(""), w, &errs)
	}()
	var got bytes.Buffer
	b := make([]byte, 1)
	for n := 0; n < lines; {
		if _, err := r.Read(b); err != nil {
			t.Fatal(err)
		}
		got.Write(b)
		if b[0] == '\n' {
			n++
		}
	}
	stop(r, cancel)
	code = <-done
	w.Close()
	rest, err := io.ReadAll(r)
	if err == nil {
		got.Write(rest)
	}
	return code, got.String(), errs.String(), state
}

// continues fails unless the state continues the order after the rows that were read.
func continues(t *testing.T, read, state string, args ...string) {
	t.Helper()
	if !strings.HasSuffix(read, "\n") && read != "" {
		t.Errorf("the last line is cut: %q", read[max(0, len(read)-80):])
	}
	rows := strings.Count(read, "\n")
	_, all, _ := command(t, append([]string{"cat", shop, "--limit", fmt.Sprint(rows + 500)}, append(args, "--epochs", "1000")...)...)
	code, rest, stderr := command(t, "cat", shop, "--columns", "unique_id", "--state", state, "--limit", "500", "--epochs", "1000")
	if code != 0 || read+rest != all {
		t.Errorf("exit %d, %s; %d rows were read, and the state says %s", code, stderr, rows, contentOf(t, state))
	}
}

func contentOf(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

var order = []string{"--columns", "unique_id", "--shuffle", "--seed", "7"}

// TestSaveStateClosedPipe: the state is after the rows that the reader took; rows that it left in
// the pipe come again.
func TestSaveStateClosedPipe(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system does not tell what a pipe holds")
	}
	for _, lines := range []int{0, 1, 3, 1000, 5000} {
		t.Run(fmt.Sprint(lines), func(t *testing.T) {
			code, read, stderr, state := stopCat(t, lines, func(r *os.File, _ context.CancelCauseFunc) { r.Close() }, order...)
			if code != 0 || stderr != "" {
				t.Errorf("exit %d, %s", code, stderr)
			}
			continues(t, read, state, order...)
		})
	}
}

// TestSaveStateInterrupted: a signal leaves whole lines and the state after them, while the pipe is
// full and has no active reader.
func TestSaveStateInterrupted(t *testing.T) {
	for signal, want := range map[syscall.Signal]struct {
		code int
		says string
	}{
		syscall.SIGINT:  {exitInterrupted, "shardfeed: interrupted; the state is in "},
		syscall.SIGTERM: {exitTerminated, "shardfeed: terminated; the state is in "},
	} {
		for _, lines := range []int{1, 3000} {
			t.Run(fmt.Sprint(signal, " after ", lines), func(t *testing.T) {
				code, read, stderr, state := stopCat(t, lines, func(_ *os.File, cancel context.CancelCauseFunc) { cancel(signaled{signal}) }, order...)
				if code != want.code || stderr != want.says+state+"\n" {
					t.Errorf("exit %d, %q", code, stderr)
				}
				continues(t, read, state, order...)
			})
		}
	}
}
