package loader

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
)

// A check finds every damaged image of columns, members and lists; headers alone show less.
func TestImageCheck(t *testing.T) {
	rows := pictures(60)
	want := []string{}
	for i, at := range []int{3, 14, 22, 31, 45, 58} {
		damages[i].damage(&rows[at])
		want = append(want, fmt.Sprintf("%d/%d", at/30, at%30))
	}
	rows[40].Img = file(20, 20, 0, true)
	rows[40].Img[len(rows[40].Img)-20] ^= 255 // a PNG whose header is whole
	for _, headers := range []bool{false, true} {
		t.Run(fmt.Sprint("headers ", headers), func(t *testing.T) {
			store := &mem.Store{}
			putPictures(t, store, "data", rows)
			var c *ImageCheck
			v, err := iterable.Verify(t.Context(), shard.Stores{"mem": store}, []string{"mem://data/"}, iterable.Options{}, nil, func(_ context.Context, m *rowgroup.Reader) (_ iterable.Check, err error) {
				c, err = NewImageCheck(m.Schema(), Options{Images: map[string]images.Options{"img": {}, "meta.bytes": {}}}, headers)
				return c.Rows, err
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			var got []string
			for _, x := range v.Lost {
				got = append(got, fmt.Sprintf("%s/%d", x.URI[len("mem://data/"):][:1], int64(x.RowGroup)*10+x.Lo))
			}
			var all []string
			if headers {
				all = slices.DeleteFunc(slices.Clone(want), func(s string) bool { return s == "1/28" }) // a PNG that is cut off
			} else {
				all = slices.Insert(slices.Clone(want), 4, "1/10")
			}
			if !slices.Equal(got, all) {
				t.Errorf("got %v, want %v", got, all)
			}
			if text := v.Lost[0].Err.Error(); !strings.Contains(text, `column "img": row 3: JPEG: it is truncated`) {
				t.Errorf("got %s", text)
			}
		})
	}
}

func TestFileColumns(t *testing.T) {
	got := FileColumns(imageSchema().Fields, func(f *column.Field) bool { return f.Type == column.TypeBinary })
	if want := []string{"img", "image.bytes", "image.thumb.bytes", "views", "other"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
