package footer

import "testing"

func TestIndexLimit(t *testing.T) {
	x := &diskIndex{segments: []*segment{{b: make([]byte, 10)}, {b: make([]byte, 1000)}, {b: make([]byte, 100)}}}
	entries := []indexEntry{{record: make([]byte, 10)}}
	if _, old := x.merge(entries); len(old) != 2 || len(old[0].b) != 10 || len(old[1].b) != 100 {
		t.Errorf("%d segments are merged", len(old))
	}
	entries[0].record = make([]byte, maxIndexTotal)
	if merged, old := x.merge(entries); len(merged) != 1 || len(old) != 3 {
		t.Errorf("over the limit %d entries stay and %d segments go", len(merged), len(old))
	}
}
