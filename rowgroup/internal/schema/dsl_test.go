package schema

import (
	"testing"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
)

// fileSchemaOf builds the schema of a text, through the footer's bytes.
func fileSchemaOf(t testing.TB, text string) *File {
	t.Helper()
	s, err := tryFileSchema(t, text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return s
}

func tryFileSchema(t testing.TB, text string) (*File, error) {
	t.Helper()
	b := filetest.File{Schema: text}.Bytes(t)
	n := len(b) - parquet.TailBytes
	f, err := parquet.ParseFooter(b[parquet.MagicBytes:n], parquet.MagicBytes)
	if err != nil {
		return nil, err
	}
	return NewFile(NewBytes(f.Schema, nil))
}
