package servertest

import (
	"bufio"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A conversation is with a server that answers each line of its standard input with one line.
type conversation struct {
	*process
	mu      sync.Mutex // one command at a time
	out     *os.File
	answers *bufio.Reader
	within  time.Duration // how long an answer may take
	broken  error         // an answer is missing: later answers do not belong to the next commands
}

func converse(root string, env []string, args ...string) (*conversation, error) {
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	p, err := launch(talker, root, env, theirs, args...)
	if err != nil {
		out.Close()
		return nil, err
	}
	return &conversation{process: p, out: out, answers: bufio.NewReader(out), within: ReadyWithin}, nil
}

func (c *conversation) line() (string, error) {
	if err := c.out.SetReadDeadline(time.Now().Add(c.within)); err != nil {
		return "", err
	}
	line, err := c.answers.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("%w: %s", errors.Join(err, c.ended()), c.logTail())
	}
	return strings.TrimSpace(line), nil
}

// ask sends a command of words that are already escaped.
func (c *conversation) ask(command string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return "", c.broken
	}
	if _, err := c.hold.WriteString(command + "\n"); err != nil {
		return "", err
	}
	line, err := c.line()
	if err != nil {
		c.broken = fmt.Errorf("%s: %w", command, err)
		return "", c.broken
	}
	answer, ok := strings.CutPrefix(line, "OK")
	if !ok {
		return "", errors.New(line)
	}
	return strings.TrimSpace(answer), nil
}

func (c *conversation) stop() {
	c.process.stop()
	c.out.Close()
}

// Ask sends a command, see tools/hdfsmini/hdfsmini/Commands.java, and returns its answer: "killdn
// 1", "startnn", "failover".
func (c *Cluster) Ask(command string) (string, error) { return c.talk.ask(command) }

// Command is Ask where an error ends the test.
func (c *Cluster) Command(t testing.TB, command string) string {
	t.Helper()
	answer, err := c.Ask(command)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// command sends words as they are.
func (c *Cluster) command(t testing.TB, words ...string) string {
	t.Helper()
	for i, word := range words {
		words[i] = url.QueryEscape(word)
	}
	return c.Command(t, strings.Join(words, " "))
}

// Dir makes an empty directory that goes away with the test, and returns its path.
func (c *Cluster) Dir(t testing.TB) string {
	t.Helper()
	dir := "/" + strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	c.command(t, "mkdir", dir)
	t.Cleanup(func() { c.Ask("rm " + url.QueryEscape(dir)) }) // fails where the test has killed the namenode: then all goes away later
	return dir
}

// Put makes or replaces a file. Options are "blocksize=65536", "replication=3", "checksum=NULL",
// "bytes-per-checksum=1536".
func (c *Cluster) Put(t testing.TB, path string, content []byte, options ...string) {
	t.Helper()
	f, err := os.CreateTemp(data(c.talk.root), "put-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	c.PutFile(t, path, f.Name(), options...)
}

// PutFile makes or replaces a file from a local one, see Put.
func (c *Cluster) PutFile(t testing.TB, path, local string, options ...string) {
	t.Helper()
	c.command(t, append([]string{"put", local, path}, options...)...)
}

// Open makes a file that stays open for writing, its bytes visible, until Close.
func (c *Cluster) Open(t testing.TB, path string, content []byte) {
	t.Helper()
	local := t.TempDir() + "/open"
	if err := os.WriteFile(local, content, 0o644); err != nil {
		t.Fatal(err)
	}
	c.command(t, "open", local, path)
}

// Close finishes a file of Open.
func (c *Cluster) Close(t testing.TB, path string) { t.Helper(); c.command(t, "close", path) }

// Remove deletes a file, or a directory with all below.
func (c *Cluster) Remove(t testing.TB, path string) { t.Helper(); c.command(t, "rm", path) }

// KillDatanode stops a datanode, gracefully: its connections end at packets' edges.
func (c *Cluster) KillDatanode(t testing.TB, i int) {
	t.Helper()
	c.command(t, "killdn", strconv.Itoa(i))
}

// StartDatanode starts a datanode that was stopped, on the same ports, and returns when its blocks
// are known.
func (c *Cluster) StartDatanode(t testing.TB, i int) {
	t.Helper()
	c.command(t, "startdn", strconv.Itoa(i))
}
