package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Images have the same pixels from every server, and through the cache, as from local files.
func TestServerImages(t *testing.T) {
	const images = "img_jpg=imagenet_train,size=64"
	var want []byte
	for _, f := range families(t) {
		t.Run(f.name, func(t *testing.T) {
			dir, page := t.TempDir(), filepath.Join(t.TempDir(), "page.png")
			must(t, f.args("sample", "--cache-dir", dir, "--columns", "img_jpg", "-n", "20", "--seed", "3", "--montage", page, "--images", images)...)
			got, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			if !bytes.Equal(got, want) {
				t.Error("the images are not those of local files")
			}
			for range 2 { // the second time from the cache
				args := f.args("bench", "--cache-dir", dir, "--columns", "img_jpg", "--shuffle", "--batch-size", "100", "--images", images, "--json")
				code, stdout, stderr := command(t, args...) // a note that JPEG is decoded in Go is allowed
				var m measurement
				if err := json.Unmarshal([]byte(stdout), &m); err != nil || code != 0 {
					t.Fatalf("exit %d, %v, stderr %q", code, err, stderr)
				}
				if m.Rows != 2026 || m.LostRows != 0 {
					t.Errorf("%d rows, %d lost", m.Rows, m.LostRows)
				}
			}
		})
	}
}
