package rowgroup

import (
	"context"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
)

// What cannot be read is refused when it is asked for, and only then.
func TestUnreadableColumn(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(c *format.ColumnChunk)
	}{
		{"LZO", "it is compressed with LZO (codec 3), which cannot be read", func(c *format.ColumnChunk) { c.MetaData.Codec = format.LZO }},
		{"a codec of the future", "it is compressed with CompressionCodec(?) (codec 99), which cannot be read", func(c *format.ColumnChunk) { c.MetaData.Codec = 99 }},
		{"encrypted", "encrypted parquet is not supported", func(c *format.ColumnChunk) {
			c.CryptoMetadata.Value = &format.EncryptionWithColumnKey{PathInSchema: []string{"b"}}
			c.MetaData = format.ColumnMetaData{}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := filetest.File{Schema: `required int32 a; required int32 b;`, Rows: []int{5}, Meta: func(m *format.FileMetaData) {
				c.change(&m.RowGroups[0].Columns[1])
			}}
			store, shards := putFiles(t, map[string][]byte{"a.parquet": f.Bytes(t)})
			_, err := Open(context.Background(), store, shards, Options{})
			want := `mem://t/a.parquet: row group 0, column "b": ` + c.want + ` (leave the column out, or write it in another way)`
			if err == nil || err.Error() != want {
				t.Errorf("error is %v\nwant     %s", err, want)
			}
			m, err := Open(context.Background(), store, shards, Options{Columns: []string{"a"}})
			if err != nil {
				t.Fatal(err)
			}
			m.Close()
		})
	}
}
