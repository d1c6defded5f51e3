package boxes

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Of: "image"}, ""},
		{Options{}, "Of must name a column of images, got an empty name"},
		{Options{Of: "image", Format: "yxyx"}, `Format must be xyxy, xywh, cxcywh, xy or xyv, got "yxyx"`},
		{Options{Of: "image", MinSize: -1}, "MinSize must be a number of at least 0, got -1"},
		{Options{Of: "image", Format: XY, MinSize: 2}, `MinSize is of boxes, and Format "xy" is of points; leave it out`},
		{Options{Of: "image", KeepAll: true, DropWith: []string{"labels"}}, "DropWith contradicts KeepAll, which drops nothing; leave one of the two out"},
		{Options{Of: "image", DropWith: []string{""}}, "DropWith must name columns, got an empty name"},
	} {
		err := c.o.Validate()
		if got := ""; err != nil {
			got = err.Error()
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		} else if c.want != "" {
			t.Errorf("nothing is wrong, want %s", c.want)
		}
	}
}

func TestJSON(t *testing.T) {
	for text, want := range map[string]Options{
		`{"of":"image"}`: {Of: "image"},
		`{"of":"image","format":"xywh","clip":false,"min_size":2.5,"drop_with":["labels"]}`: {Of: "image", Format: XYWH, Unclipped: true, MinSize: 2.5, DropWith: []string{"labels"}},
		`{"of":"image","format":"xyv","drop":false}`:                                        {Of: "image", Format: XYV, KeepAll: true},
	} {
		var o Options
		if err := json.Unmarshal([]byte(text), &o); err != nil || !reflect.DeepEqual(o, want) {
			t.Errorf("%s is %+v, %v", text, o, err)
		}
		if got, err := json.Marshal(want); err != nil || string(got) != text {
			t.Errorf("got  %s, %v\nwant %s", got, err, text)
		}
	}
	if err := json.Unmarshal([]byte(`{"off":1}`), new(Options)); err == nil || !strings.Contains(err.Error(), `unknown field "off"`) {
		t.Errorf("got %v", err)
	}
}
