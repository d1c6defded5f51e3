package servertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestConversationLateAnswer: an answer that came too late is not taken for that to the next
// command.
func TestConversationLateAnswer(t *testing.T) {
	root, err := newRoot("talk")
	if err != nil {
		t.Fatal(err)
	}
	const program = `while read -r line; do
  until [ "$line" != slow ] || [ -e "$0/go" ]; do sleep 0.01; done
  echo "OK $line"; : > "$0/$line"
done`
	signals := t.TempDir()
	c, err := converse(root, nil, "sh", "-c", program, signals)
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	if answer, err := c.ask("one"); answer != "one" || err != nil {
		t.Fatalf("%q, %v", answer, err)
	}
	c.within = 50 * time.Millisecond
	if answer, err := c.ask("slow"); err == nil {
		t.Fatalf("%q before it could be said", answer)
	}
	c.within = ReadyWithin
	if err := os.WriteFile(filepath.Join(signals, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(ReadyWithin); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(signals, "slow")); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the late answer was never given")
		}
	}
	if answer, err := c.ask("two"); err == nil || !strings.HasPrefix(err.Error(), "slow: ") {
		t.Errorf("%q, %v: want the error of the command that was not answered", answer, err)
	}
}
