package servertest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// childVar makes TestServerKilledChild start servers and wait for its end.
const childVar = "SERVERTEST_CHILD"

// TestServerKilled: the servers of a process that is killed end with it, and nothing of them is
// left.
func TestServerKilled(t *testing.T) {
	Need(t, "versitygw")
	Need(t, "hdfsmini")
	child := exec.Command(os.Args[0], "-test.run=^TestServerKilledChild$", "-test.v")
	child.Env = append(os.Environ(), childVar+"=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var roots []string
	for lines := bufio.NewScanner(out); len(roots) == 0 && lines.Scan(); {
		if line, ok := strings.CutPrefix(lines.Text(), "roots "); ok {
			roots = strings.Fields(line)
		}
	}
	child.Process.Kill()
	child.Wait()
	if len(roots) != 2 {
		t.Fatalf("the child has servers in %v", roots)
	}
	for end := time.Now().Add(ReadyWithin); len(roots) > 0; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(roots[0]); os.IsNotExist(err) {
			roots = roots[1:]
		} else if time.Now().After(end) {
			t.Fatalf("%v is left behind", roots)
		}
	}
}

// TestServerKilledChild is what TestServerKilled kills.
func TestServerKilledChild(t *testing.T) {
	if os.Getenv(childVar) == "" {
		t.Skip("runs in the child of TestServerKilled alone")
	}
	fmt.Println("roots", S3(t).proc.root, HDFS(t, HDFSOptions{Datanodes: 1}).talk.root)
	time.Sleep(ReadyWithin)
}
