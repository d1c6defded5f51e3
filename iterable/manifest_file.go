package iterable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/internal/regular"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// maxDifferences is how many shards an error lists.
const maxDifferences = 10

// ManifestError says that the shards differ from those of a saved manifest or a state.
type ManifestError struct {
	Differences []string // "added x", "removed y", "changed z: 10 bytes, now 20"; nil when the earlier list is not known
	Saved       string   // the file with the earlier list, when it is kept; a run finishes its epoch with it
	Err         error    // what did not fit
}

func (e *ManifestError) Error() string {
	s := "the data is not what it was"
	if e.Err != nil {
		s = e.Err.Error()
	}
	if len(e.Differences) > 0 {
		s += "; " + strings.Join(e.Differences, ", ")
	}
	if e.Saved != "" {
		s += fmt.Sprintf(" (the epoch can be finished on the list of then, with the manifest %s)", e.Saved)
	}
	return s
}

func (e *ManifestError) Unwrap() error { return e.Err }

// SaveManifest writes the list of shards into a directory, under its hash as states carry it, and
// returns the file, of a mixture that of the last source. Given to Options, it lets a run finish
// its epoch on this list while shards are added.
func (d *Dataset) SaveManifest(dir string) (path string, err error) {
	for _, s := range d.sources {
		if path, err = s.saveManifest(dir); err != nil {
			return "", err
		}
	}
	return path, nil
}

func (d *source) saveManifest(dir string) (path string, err error) {
	b, err := d.data.JSON()
	if err != nil {
		return "", err
	}
	path = manifestPath(dir, d.data.Content())
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	return path, writeWhole(path, append(b, '\n'))
}

// ReadManifest reads what SaveManifest wrote.
func ReadManifest(path string) (*shuffle.Manifest, error) {
	b, err := regular.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := shuffle.ParseManifest(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

func manifestPath(dir, hash string) string { return filepath.Join(dir, hash+".json") }

// writeWhole writes a file under another name first, so that a reader never sees half of it.
func writeWhole(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".manifest-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// onlySaved keeps the shards that a saved manifest lists, each at the version that it had.
func onlySaved(found []shard.Shard, saved *shuffle.Manifest) ([]shard.Shard, error) {
	byAddress := make(map[string]shard.Shard, len(found))
	for i, address := range addresses(found) {
		byAddress[address] = found[i]
	}
	kept := make([]shard.Shard, 0, len(saved.Shards))
	var wrong []string
	for _, want := range saved.Shards {
		s, ok := byAddress[saved.Base+want.Path]
		switch {
		case !ok:
			wrong = append(wrong, "removed "+want.Path)
		case s.Size != want.Size || s.Version != want.Version:
			wrong = append(wrong, fmt.Sprintf("changed %s: %d bytes, version %s, now %d bytes, version %s", want.Path, want.Size, want.Version,
				s.Size, s.Version))
		}
		kept = append(kept, s)
	}
	if rest := len(wrong) - maxDifferences; rest > 0 {
		wrong = append(wrong[:maxDifferences], fmt.Sprintf("and %d more", rest))
	}
	if len(wrong) > 0 {
		return nil, &ManifestError{Err: errors.New("the data is no longer what the saved manifest lists"), Differences: wrong}
	}
	return kept, nil
}

// addresses are the shards' URIs in one spelling each. They have no directory in common with a
// scheme that does not exist, and so are whole.
func addresses(shards []shard.Shard) []string {
	return shard.RelativePaths(append(slices.Clip(shards), shard.Shard{URI: "none://"}))[:len(shards)]
}

// explain says of a state that was taken over other shards what became of them since, when their
// list of then is kept. Any other error stays.
func (d *source) explain(state shuffle.State, err error) error {
	if err == nil || state.Rule != d.data.Rule || state.Manifest == d.sampledData().Content() {
		return err
	}
	e := &ManifestError{Err: &otherShards{saved: state.Rows, here: d.samples, cause: err}}
	if d.options.ManifestDir != "" {
		path := manifestPath(d.options.ManifestDir, state.Manifest)
		if old, err := ReadManifest(path); err == nil {
			e.Differences = old.Differences(d.data, maxDifferences)
			e.Saved = path
		}
	}
	return e
}

// otherShards says in few words that a state is of other shards; the fields that differ, hashes
// among them, are in its cause.
type otherShards struct {
	saved, here int64 // rows
	cause       error
}

func (e *otherShards) Error() string {
	return fmt.Sprintf("these are not the shards that the state was taken over: %d rows then, %d rows now", e.saved, e.here)
}

func (e *otherShards) Unwrap() error { return e.cause }
