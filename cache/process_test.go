//go:build linux

package cache

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/trusted"
)

// kills is how many processes TestKill kills.
var kills = flag.Int("kills", 20, "processes that TestKill kills")

// TestEachByteOnce: processes that read the same shards at the same time through one cold cache
// fetch each byte once, all together.
func TestEachByteOnce(t *testing.T) {
	const processes, shards, size = 8, 6, 2<<20 + 1234
	dir, scratch := testDir(t), t.TempDir()
	var all []*exec.Cmd
	for i := range processes {
		all = append(all, startChild(t, childRun{
			Dir: dir, Scratch: scratch, Limit: 1 << 30, Shards: shards, Size: size, Seed: uint64(i), Delay: 3 * time.Millisecond,
		}))
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if got := fetchedBytes(t, scratch); got != shards*size {
		t.Errorf("%d processes fetched %d bytes of %d", processes, got, shards*size)
	}
}

// fetchedBytes sums what the children fetched.
func fetchedBytes(t *testing.T, scratch string) (sum int64) {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(scratch, "fetched"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		var off, n int64
		if _, err := fmt.Sscanf(line, "%d %d", &off, &n); err == nil { // the last line of a killed child may be cut
			sum += n
		}
	}
	return sum
}

// TestDecodedOnce: processes that keep the same decoded bytes at the same time write each once, all
// together, and all of it is there afterwards.
func TestDecodedOnce(t *testing.T) {
	const processes, shards, size = 6, 4, 3<<20 + 1234
	dir, scratch := testDir(t), t.TempDir()
	var all []*exec.Cmd
	for i := range processes {
		all = append(all, startChild(t, childRun{
			Dir: dir, Scratch: scratch, Limit: 1 << 30, Shards: shards, Size: 1000, Decoded: size, Seed: uint64(i),
		}))
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if got := fetchedBytes(t, scratch); got != shards*size {
		t.Errorf("%d processes wrote %d bytes of %d", processes, got, shards*size)
	}
	c := openTest(t, Options{Dir: dir, DecodedLimit: 1 << 30})
	for i := range shards {
		s := originShard(i, "v0", 1000)
		expectDecoded(t, openDecoded(t, c, s, size), s, 0, size)
	}
}

// A killer runs processes on one cache directory and kills them at random moments, while bytes of
// the cache rot.
type killer struct {
	t       *testing.T
	run     childRun
	random  *rand.Rand
	workers []*exec.Cmd
	started int

	killed, wrong, flips int
}

func newKiller(t *testing.T, noVerify bool, decoded int64) *killer {
	k := &killer{t: t, random: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))}
	k.run = childRun{
		Dir: testDir(t), Scratch: t.TempDir(), Limit: 24 << 20, KeepFor: time.Second, NoVerify: noVerify,
		Shards: 8, Size: 5<<20 + 12345, Decoded: decoded, Forever: true, Delay: 2 * time.Millisecond,
	}
	for range 3 {
		k.workers = append(k.workers, nil)
		k.start(len(k.workers) - 1)
	}
	return k
}

func (k *killer) start(i int) {
	k.started++
	k.run.Seed = k.random.Uint64()
	k.workers[i] = startChild(k.t, k.run)
}

// kill ends a process in the middle of whatever it does, and says whether it had seen a wrong byte
// by then.
func (k *killer) kill(i int) {
	_ = k.workers[i].Process.Kill()
	err := k.workers[i].Wait()
	status, _ := k.workers[i].ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case status.Signaled() && status.Signal() == syscall.SIGKILL:
		k.killed++
	case status.ExitStatus() == exitWrong:
		k.wrong++
	default:
		k.t.Errorf("a process ended by itself: %v", err)
	}
}

// flip changes one byte that a cache file holds: that of decoded bytes while no process has it
// open.
func (k *killer) flip() {
	paths, err := filepath.Glob(filepath.Join(k.run.Dir, formatDir, "*", "*-*"))
	if err != nil || len(paths) == 0 {
		return
	}
	path := paths[k.random.IntN(len(paths))]
	root, err := trusted.Open(filepath.Join(k.run.Dir, formatDir))
	if err != nil {
		k.t.Fatal(err)
	}
	defer root.Close()
	name, _ := filepath.Rel(root.Path(), path)
	key, err := keyAt(root, name)
	if err != nil { // it is gone, or not yet whole
		return
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		k.t.Fatal(err)
	}
	defer f.Close()
	if key.decoded() && own(f) != nil {
		return
	}
	if off, ok := k.someHeld(f, fileLayoutOf(key)); ok {
		flipByte(k.t, f, off, 1<<k.random.IntN(8))
		k.flips++
	}
}

// someHeld finds a byte of a shard file that is held: one in a hole would take uncounted bytes on
// the disk.
func (k *killer) someHeld(f *os.File, l fileLayout) (off int64, ok bool) {
	word := make([]byte, 8)
	for range 20 {
		block := k.random.Int64N(blocksOf(l.size))
		if _, err := f.ReadAt(word, l.header+8*block); err != nil {
			return 0, false
		}
		if lo, hi := entry(leInt(word)).run(blockLen(l.size, block)); lo < hi {
			return l.data + block*blockSize + int64(lo+k.random.IntN(hi-lo)), true
		}
	}
	return 0, false
}

// rounds kills n processes, one after the other, and flips bytes before each.
func (k *killer) rounds(n, flips int) {
	for range n {
		time.Sleep(time.Duration(20+k.random.IntN(80)) * time.Millisecond)
		for range flips {
			k.flip()
		}
		i := k.random.IntN(len(k.workers))
		k.kill(i)
		k.start(i)
	}
	time.Sleep(100 * time.Millisecond)
	for i := range k.workers {
		k.kill(i)
	}
}

// TestKill: a process may be killed at any moment; no wrong byte is ever served, the limit holds,
// and the directory keeps working. `go test -run Kill -kills 200` does it for longer.
func TestKill(t *testing.T) {
	k := newKiller(t, false, 0)
	k.rounds(*kills, 3)
	k.check()
}

// TestKillDecoded is TestKill for processes that keep decoded bytes.
func TestKillDecoded(t *testing.T) {
	k := newKiller(t, false, 6<<20+999)
	k.rounds(*kills, 50)
	k.check()
	if k.flips == 0 {
		t.Error("no byte was flipped")
	}
}

// check looks at what is left when all processes are gone.
func (k *killer) check() {
	t := k.t
	t.Helper()
	if k.wrong > 0 {
		t.Errorf("%d processes were served a wrong byte", k.wrong)
	}
	onDisk := diskUsage(t, k.run.Dir)
	t.Logf("%d killed, %d bytes flipped, %d bytes on the disk of %d, %d fetched", k.killed, k.flips, onDisk, k.run.Limit, fetchedBytes(t, k.run.Scratch))
	if onDisk > k.run.Limit {
		t.Errorf("%d bytes on the disk, more than the limit of %d", onDisk, k.run.Limit)
	}
	if _, err := Verify(t.Context(), k.run.Dir, nil); err != nil {
		t.Error(err)
	}
	if r, err := Verify(t.Context(), k.run.Dir, nil); err != nil || r.Bad != 0 {
		t.Errorf("the second look finds %+v, %v", r, err)
	}
	if freed, err := Clear(t.Context(), k.run.Dir); err != nil || freed.InUse != 0 {
		t.Errorf("cleared %+v, %v", freed, err)
	}
}

// TestKillControl: without verification the same harness does see wrong bytes.
func TestKillControl(t *testing.T) {
	for _, decoded := range []int64{0, 6<<20 + 999} {
		t.Run(fmt.Sprintf("%d decoded", decoded), func(t *testing.T) { newKiller(t, true, decoded).control() })
	}
}

func (k *killer) control() {
	for range 10 {
		k.rounds(2, 100)
		if k.wrong > 0 {
			return
		}
		for i := range k.workers {
			k.start(i)
		}
	}
	k.rounds(0, 0)
	k.t.Errorf("no wrong byte was seen in %d kills with %d bytes flipped: this harness sees nothing", k.killed, k.flips)
}

// diskUsage is what du would say.
func diskUsage(t *testing.T, dir string) (sum int64) {
	t.Helper()
	root := rootOf(t, filepath.Join(dir, formatDir))
	err := filepath.WalkDir(root.Path(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !bytes.Contains([]byte(path), []byte("-")) {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += allocated(info)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
