package term

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
		for name, start := range map[string]func(w io.Writer) *Progress{
			"rows":  func(w io.Writer) *Progress { return NewProgress(w, "bench", 12_345_678_901) },
			"bytes": func(w io.Writer) *Progress { return NewByteProgress(w, "generate", 123_456_789_012) },
			"time":  func(w io.Writer) *Progress { return NewWatch(w, "measure", 1e12) },
		} {
			t.Run(fmt.Sprint(name, " on ", columns, " columns"), func(t *testing.T) {
				screen, terminal := openTerminal(t, columns)
				p := start(terminal)
				p.Add(1_234_567)
				_ = p.bar.RenderBlank()
				p.Add(10_000_000_000)
				_ = p.bar.RenderBlank()
				p.Close()
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

// An opening that takes long has one line at a time, and none in the end; a quick one has none.
func TestOpeningShows(t *testing.T) {
	for _, columns := range []int{30, 80} {
		t.Run(fmt.Sprint(columns, " columns"), func(t *testing.T) {
			screen, terminal := openTerminal(t, columns)
			o := NewOpening(terminal)
			o.Close()
			o = NewOpening(terminal)
			o.timer.Reset(0)
			var shown string
			until := func(want string) {
				t.Helper()
				for b := make([]byte, 4096); !strings.Contains(shown, want); {
					n, err := screen.Read(b)
					if shown += string(b[:n]); err != nil {
						t.Fatalf("%v after %q", err, shown)
					}
				}
			}
			until("list")
			o.Listed(12_345)
			o.Footers(6_173, 12_345)
			until("50%")
			o.Counted(7, 10)
			until("70%")
			o.Close()
			o.Close()
			if !strings.HasPrefix(shown, "\r| list") || !strings.Contains(shown, "footers") {
				t.Errorf("shown %q", shown)
			}
			for line := range strings.SplitSeq(shown, "\r") {
				if width := uniseg.StringWidth(line); width > columns {
					t.Errorf("%q has %d columns", line, width)
				}
			}
		})
	}
}
