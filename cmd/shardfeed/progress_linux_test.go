package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a terminal of so many columns.
func openTerminal(t *testing.T, columns int) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("this machine has no terminals:", err)
	}
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)})
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return screen, terminal
}

// TestProgressStaysOnOneLine: no bar is wider than the terminal, from which a terminal makes two
// lines.
func TestProgressStaysOnOneLine(t *testing.T) {
	for _, columns := range []int{22, 30, 40, 50, 60, 80, 120} {
		for name, start := range map[string]func(w io.Writer) *progress{
			"rows":  func(w io.Writer) *progress { return newProgress(w, "bench", 12_345_678_901) },
			"bytes": func(w io.Writer) *progress { return newByteProgress(w, "generate", 123_456_789_012) },
			"time":  func(w io.Writer) *progress { return newWatch(w, "measure", 1e12) },
		} {
			t.Run(fmt.Sprint(name, " on ", columns, " columns"), func(t *testing.T) {
				screen, terminal := openTerminal(t, columns)
				p := start(terminal)
				p.add(1_234_567)
				_ = p.bar.RenderBlank()
				p.add(10_000_000_000)
				_ = p.bar.RenderBlank()
				p.close()
				terminal.Close()
				shown, _ := io.ReadAll(screen) // it ends with an error when the terminal is closed
				for line := range strings.SplitSeq(string(shown), "\r") {
					if width := uniseg.StringWidth(strings.ReplaceAll(line, "\x1b[K", "")); width > columns {
						t.Errorf("%q has %d columns", line, width)
					}
				}
				if !strings.Contains(string(shown), "%") || strings.Contains(string(shown), "\n") {
					t.Errorf("shown %q", shown)
				}
			})
		}
	}
}
