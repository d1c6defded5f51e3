package saved

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A plan that is larger than a piece is read in pieces, each block once.
func TestPlanInPieces(t *testing.T) {
	stores := shard.Stores{"": local.Store{}}
	shards, err := shard.Discover(t.Context(), stores, []string{"../../../testdata/shop"}, shard.DiscoverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := rowgroup.Open(t.Context(), stores, shards, rowgroup.Options{KeepKnown: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	data := &shuffle.Manifest{}
	for i := range shards {
		data.Shards = append(data.Shards, shuffle.Shard{Path: fmt.Sprintf("%04d", i), Version: "1"})
	}
	f := NewFile("")
	if f.Part, err = NewPart(nil, nil, data, "", nil, nil); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.plan")
	if err := f.Write(path, []*rowgroup.Reader{m}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := readPlan(t.Context(), "", bytesObject(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	for _, front := range []int{64, 65, 100, len(content) / 2, len(content) - 1} {
		p, err := readBundle(t.Context(), bytesObject(content), int64(len(content)), content[:front], parseJSON)
		if err != nil || len(p.Footers) != len(shards) || p.Hash != whole.Hash {
			t.Errorf("from %d bytes on: %v", front, err)
		}
	}
}

// A mixture that is none is refused, whatever its hash.
func TestParsePlanMixture(t *testing.T) {
	for mixture, want := range map[string]string{
		`{}`:                        "0 sources",
		`{"batching":"stratified"}`: "0 sources",
		`{"batching":"random","sources":[{"name":"a"}]}`:     `batches "random"`,
		`{"batching":"stratified","sources":[{"name":"a"}]}`: `source "a": `,
		`[]`: "",
	} {
		t.Run(mixture, func(t *testing.T) {
			f := File{Version: 1, Mixture: json.RawMessage(mixture)}
			f.Hash = f.sum()
			b, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parseJSON(b); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v lacks %q", err, want)
			}
		})
	}
}

// FuzzPlan: whatever a file holds is a plan or an error.
func FuzzPlan(f *testing.F) {
	f.Add([]byte(`{"v":1,"hash":"","order":"lane-tick/3","manifest":{},"units":"","params":{}}`))
	f.Add([]byte(`{"v":1,"hash":"","mixture":{"batching":"stratified","sources":[{"name":"a","manifest":{},"params":{},"tokens":1}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = readPlan(t.Context(), "plan", bytesObject(b), int64(len(b)))
		_, _ = parseMixture(b) // as if the hash did fit
	})
}
