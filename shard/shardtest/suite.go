package shardtest

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

// A Fixture is a store whose shards a test can change. Names are slash-separated paths below a root
// that is the fixture's own.
type Fixture interface {
	Store() shard.Store
	// Address returns the address of a name; of the root when name is "".
	Address(name string) string
	// Write makes or replaces a shard. Its version differs from all earlier ones of that name.
	Write(t testing.TB, name string, content []byte)
	Remove(t testing.TB, name string)
}

// A Namer is a Fixture of a place that does not take every name.
type Namer interface {
	Legal(name string) bool
}

// An Unlister is a Fixture of a place that lists no directories: lists of some are an error of its
// own, which the checks accept.
type Unlister interface {
	Unlisted() error
	// Shared reports whether a pattern means there what it means elsewhere.
	Shared(pattern string) bool
}

// skipUnlisted ends a check that needs a list of a directory, which the place does not have.
func skipUnlisted(t *testing.T, f Fixture, err error) {
	if u, ok := f.(Unlister); ok && errors.Is(err, u.Unlisted()) {
		t.Skip("the place lists no directories")
	}
}

// Run checks everything that package shard promises of a store. New returns an empty fixture for
// each check.
func Run(t *testing.T, newFixture func(t *testing.T) Fixture) {
	checks := []struct {
		name string
		run  func(t *testing.T, f Fixture)
	}{
		{"OpenMissing", openMissing},
		{"OpenChanged", openChanged},
		{"OpenUnversioned", openUnversioned},
		{"OpenImmutable", openImmutable},
		{"OpenCancelled", openCancelled},
		{"ReadRanges", readRanges},
		{"ReadManyRanges", readManyRanges},
		{"ReadOutside", readOutside},
		{"ReadDisorder", readDisorder},
		{"ReadEmpty", readEmpty},
		{"ReadConcurrent", readConcurrent},
		{"ReadCancelled", readCancelled},
		{"ReadMeasured", readMeasured},
		{"ReadWhileReplaced", readWhileReplaced},
		{"RangesWhileReplaced", rangesWhileReplaced},
		{"ReadWhileRemoved", readWhileRemoved},
		{"CloseTwice", closeTwice},
		{"ViewRanges", viewRanges},
		{"ViewOutlivesClose", viewOutlivesClose},
		{"ViewConcurrent", viewConcurrent},
		{"OddNames", oddNames},
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) { c.run(t, newFixture(t)) })
	}
	RunLists(t, newFixture)
	for _, c := range tableCases {
		t.Run("Table/"+c.name, func(t *testing.T) { c.run(t, newFixture(t)) })
	}
}

// RunLists checks what package shard promises of lists, as part of Run.
func RunLists(t *testing.T, newFixture func(t *testing.T) Fixture) {
	t.Run("ListDescribes", func(t *testing.T) { listDescribes(t, newFixture(t)) })
	t.Run("ListCancelled", func(t *testing.T) { listCancelled(t, newFixture(t)) })
	t.Run("ListManySorted", func(t *testing.T) { listManySorted(t, newFixture(t)) })
	for _, c := range listCases {
		t.Run("List/"+c.name, func(t *testing.T) { c.run(t, newFixture(t)) })
	}
}

// content returns n bytes that depend on the seed and on their place.
func content(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func listOne(t *testing.T, f Fixture, name string) shard.Shard {
	t.Helper()
	found, err := f.Store().List(t.Context(), f.Address(name))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 {
		t.Fatalf("%s names %d shards, want 1", name, len(found))
	}
	return found[0]
}

func open(t *testing.T, f Fixture, name string, b []byte) shard.Object {
	t.Helper()
	f.Write(t, name, b)
	o, err := f.Store().Open(t.Context(), listOne(t, f, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() })
	return o
}

// cancelled returns a context that is over, for a cause of the caller's.
func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the caller's cause"))
	return ctx
}

// wantErr checks an error's kind and that it is a shard.Error that names the address.
func wantErr(t *testing.T, err, kind error, address string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("error %v, want one that is %q", err, kind)
	}
	if std := map[error]error{shard.ErrNotExist: fs.ErrNotExist, shard.ErrDenied: fs.ErrPermission}[kind]; std != nil && !errors.Is(err, std) {
		t.Fatalf("error %v is not %q", err, std)
	}
	var e *shard.Error
	if !errors.As(err, &e) || e.URI != address {
		t.Fatalf("error %q does not name %s", err, address)
	}
}
