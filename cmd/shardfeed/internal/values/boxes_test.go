package values

import (
	"reflect"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/images/boxes"
)

func TestBoxesFlag(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        boxes.Options
		err         string // a part of it
	}{
		{"settings", "b=of=img,format=xywh,clip=false,min_size=2,drop_with=labels:areas", boxes.Options{Of: "img", Format: boxes.XYWH, Unclipped: true, MinSize: 2, DropWith: []string{"labels", "areas"}}, ""},
		{"points", "b=of=img,format=xyv,drop=false", boxes.Options{Of: "img", Format: boxes.XYV, KeepAll: true}, ""},
		{"JSON", `b={"of": "img", "drop": false}`, boxes.Options{Of: "img", KeepAll: true}, ""},
		{"no column", "of", boxes.Options{}, "must be a column with settings, as in boxes=of=img,format=xywh,drop_with=labels"},
		{"no image", "b=format=xywh", boxes.Options{}, "of must name a column of images, got an empty name"},
		{"an unknown setting", "b=of=img,size=3", boxes.Options{}, `"size" is unknown; there are clip, drop, drop_with, format, min_size, of`},
		{"contradiction", "b=of=img,drop=false,drop_with=labels", boxes.Options{}, "drop_with contradicts drop=False, which drops nothing; leave one of the two out"},
		{"unknown JSON", `b={"off": 3}`, boxes.Options{}, `unknown field "off"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var v Boxes
			err := v.Set(c.value)
			switch {
			case c.err == "" && (err != nil || !reflect.DeepEqual(v["b"], c.want)):
				t.Errorf("got %+v, %v", v["b"], err)
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("got %v, want %s", err, c.err)
			}
		})
	}
}
