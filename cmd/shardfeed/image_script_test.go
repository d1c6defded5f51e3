package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/shardfeed/shardfeed/internal/image/imagetest"
)

// A pictureRow has images as data sets have them: in a column, in a struct, in a list; and bytes
// that are none.
type pictureRow struct {
	ID    int64  `parquet:"id"`
	Image []byte `parquet:"img,optional"`
	Other []byte `parquet:"other"`
	Doc   struct {
		Bytes []byte `parquet:"bytes"`
		Path  string `parquet:"path"`
	} `parquet:"doc"`
	Many [][]byte `parquet:"many,list"`
}

// pictures are rows with each kind of file: row 3 has none, row 4 a damaged one, row 5 is not an
// image.
func pictures(t testing.TB) []pictureRow {
	corpus := imagetest.Corpus(t)
	var rows []pictureRow
	for _, name := range []string{
		"exif-6.jpg", "pil-rgb.png", "pil-lossy-67x45.webp", "", "damaged", "text", "pil-420-progressive-90x70.jpg", "exif-1.jpg", "exif-8.jpg", "pil-gray.jpg",
	} {
		r := pictureRow{ID: int64(100 + len(rows)), Image: corpus[name], Other: []byte{1, 2, 3}}
		switch name {
		case "damaged":
			whole := corpus["pil-420-baseline-90x70.jpg"]
			r.Image = whole[:len(whole)/2]
		case "text":
			r.Image = []byte("this is not the beginning of an image")
		}
		r.Doc.Bytes, r.Doc.Path = corpus["pil-l.png"], name
		r.Many = [][]byte{corpus["pil-rgb.png"], corpus["exif-1.jpg"]}
		rows = append(rows, r)
	}
	return rows
}

// writePictures writes the rows, two pages a row group.
func writePictures(t testing.TB, path string, rows []pictureRow) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := parquet.WriteFile(path, rows, parquet.MaxRowsPerRowGroup(6), parquet.PageBufferSize(4096)); err != nil {
		t.Fatal(err)
	}
}

func TestImageScripts(t *testing.T) {
	rows := pictures(t)
	p := scriptParams(t, "testdata/images")
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		writePictures(t, filepath.Join(env.WorkDir, "pictures", "p.parquet"), rows)
		writePictures(t, filepath.Join(env.WorkDir, "more", "p.parquet"), rows[6:])
		writePictures(t, filepath.Join(env.WorkDir, "good", "p.parquet"), rows[6:])
		return setup(env)
	}
	testscript.Run(t, p)
}
