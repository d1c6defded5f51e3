package servertest

import (
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
	const program = `while read -r line; do [ "$line" = slow ] && sleep 0.5; echo "OK $line"; done`
	c, err := converse(root, nil, "sh", "-c", program)
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
	time.Sleep(time.Second)
	if answer, err := c.ask("two"); err == nil || !strings.HasPrefix(err.Error(), "slow: ") {
		t.Errorf("%q, %v: want the error of the command that was not answered", answer, err)
	}
}
