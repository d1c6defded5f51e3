package shardfeed

import (
	"testing"
)

// Counting the rows that a filter keeps reports how far it is.
func TestCountedEvent(t *testing.T) {
	done, groups := int64(0), int64(0)
	d, err := Open(t.Context(), Spec{Addresses: []string{shop}, Choice: Choice{Filters: "price > 20"}, Caching: Caching{CacheDir: t.TempDir()}}, Events{
		Counted: func(n, of int64) { done, groups = n, of },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close(t.Context())
	if groups == 0 || done != groups {
		t.Errorf("%d of %d row groups were counted", done, groups)
	}
}
