package gs

import "testing"

func FuzzReadPage(f *testing.F) {
	f.Add([]byte(`{"kind":"storage#objects","items":[{"name":"a","size":"1","generation":"2"}],"prefixes":["d/"],"nextPageToken":"t"}`))
	f.Add([]byte(`{"kind":"storage#objects","items":[{"size":1}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if p, err := (&service{}).ReadPage(body); err == nil && p == nil {
			t.Error("neither a page nor an error")
		}
	})
}
