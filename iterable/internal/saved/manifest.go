package saved

import (
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/regular"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A Manifest is the shards that a data set has, of each source. A later run that is given it
// reads the same shards, whatever was added to the data, and errors about its states name the
// shards that differ. Unlike a SavedPlan it pins nothing of the order.
type Manifest struct {
	Sources []Shards // in order; a plain data set is one without a name
}

// Shards are the shards of a source.
type Shards struct {
	Name     string
	Manifest *shuffle.Manifest
	Sampled  []bool // shards that states depend on; nil: all
}

// manifestFile is the JSON of a SavedManifest.
type manifestFile struct {
	Format  int              `json:"v"`       // 2
	Content string           `json:"content"` // SavedManifest.Content, which a reader checks
	Sources []manifestSource `json:"sources"`
}

type manifestSource struct {
	Name      string          `json:"name,omitempty"`
	Manifest  json.RawMessage `json:"manifest"`            // see shuffle.Manifest.JSON
	Unsampled []int           `json:"unsampled,omitempty"` // places of shards that states do not depend on
}

// Content is [Dataset.Content] of the data set that the list was made of.
func (m *Manifest) Content() string {
	return HashSources(m.Sources, (*shuffle.Manifest).Content)
}

// InUse are the shards that states depend on.
func (s Shards) InUse() *shuffle.Manifest { return s.Manifest.Only(s.Sampled) }

// HashSources returns the hash of a plain data set, or combines the hashes of a mixture's sources.
func HashSources(sources []Shards, of func(*shuffle.Manifest) string) string {
	var names, hashes []string
	for _, s := range sources {
		names, hashes = append(names, s.Name), append(hashes, of(s.InUse()))
	}
	return CombineHashes(names, hashes)
}

// CombineHashes returns the hash of a single source without a name as it is.
func CombineHashes(names, hashes []string) string {
	if len(names) == 1 && names[0] == "" {
		return hashes[0]
	}
	h := sha256.New()
	for i, name := range names {
		fmt.Fprintf(h, "%q %s\n", name, hashes[i])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// JSON of the list, which [ParseManifest] reads.
func (m *Manifest) JSON() ([]byte, error) {
	f := manifestFile{Format: 2, Content: m.Content()}
	for _, s := range m.Sources {
		text, err := s.Manifest.JSON()
		if err != nil {
			return nil, err
		}
		of := manifestSource{Name: s.Name, Manifest: text}
		for i, sampled := range s.Sampled {
			if !sampled {
				of.Unsampled = append(of.Unsampled, i)
			}
		}
		f.Sources = append(f.Sources, of)
	}
	return json.Marshal(f)
}

// Compressed is JSON, compressed by zlib.
func (m *Manifest) Compressed() ([]byte, error) {
	text, err := m.JSON()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, err = z.Write(text)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

const zlibStart = 0x78 // no JSON starts with it

// maxManifest bounds the bytes of a list that is decompressed.
const maxManifest = 4 << 30

func decompressManifest(b []byte) ([]byte, error) {
	z, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("not a saved manifest: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(z, maxManifest+1))
	if err == nil && len(text) > maxManifest {
		err = fmt.Errorf("it has more than %v", mem.Bytes(maxManifest))
	}
	if err != nil {
		return nil, fmt.Errorf("not a saved manifest: %w", err)
	}
	return text, nil
}

// ParseManifest reads the JSON of a list, or Compressed, and refuses one that was changed.
func ParseManifest(b []byte) (_ *Manifest, err error) {
	if len(b) > 0 && b[0] == zlibStart {
		if b, err = decompressManifest(b); err != nil {
			return nil, err
		}
	}
	var f manifestFile
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("not a saved manifest: %w", err)
	}
	if f.Format != 2 || len(f.Sources) == 0 {
		return nil, fmt.Errorf("not a saved manifest of this version: it has version %d with %d sources, and only version 2 is known", f.Format, len(f.Sources))
	}
	m := &Manifest{}
	for _, of := range f.Sources {
		s, err := of.saved()
		if err != nil {
			return nil, err
		}
		m.Sources = append(m.Sources, s)
	}
	if m.Content() != f.Content {
		return nil, errors.New("not a saved manifest: its hash does not fit; was it edited?")
	}
	return m, nil
}

func (f manifestSource) saved() (s Shards, err error) {
	s.Name = f.Name
	if s.Manifest, err = shuffle.ParseManifest(f.Manifest); err != nil || len(f.Unsampled) == 0 {
		return s, err
	}
	s.Sampled = slices.Repeat([]bool{true}, len(s.Manifest.Shards))
	for _, i := range f.Unsampled {
		if i < 0 || i >= len(s.Sampled) {
			return s, fmt.Errorf("not a saved manifest: there is no shard %d of %d", i, len(s.Sampled))
		}
		s.Sampled[i] = false
	}
	return s, nil
}

// ReadManifest reads a file that has the JSON of a list.
func ReadManifest(path string) (*Manifest, error) {
	b, err := regular.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := ParseManifest(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Save writes the list into a directory, under its Content, and returns the file.
func (m *Manifest) Save(dir string) (path string, err error) {
	b, err := m.JSON()
	if err != nil {
		return "", err
	}
	path = ManifestPath(dir, m.Content())
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	return path, WriteWhole(path, append(b, '\n'))
}

// ManifestPath returns the file of a list by its Content.
func ManifestPath(dir, hash string) string { return filepath.Join(dir, hash+".json") }

// Of returns the shards of a source; nil without a list.
func (m *Manifest) Of(source int) *shuffle.Manifest {
	if m == nil {
		return nil
	}
	return m.Sources[source].Manifest
}

func (m *Manifest) Names() (all []string) {
	for _, s := range m.Sources {
		all = append(all, s.Name)
	}
	return all
}
