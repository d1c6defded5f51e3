package loader

import (
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// imageSchema has files in a column and in members of structs, and row keys.
func imageSchema() *column.Schema {
	files := func(name string) *column.Field {
		return &column.Field{Name: name, Kind: column.Binary, Type: column.TypeBinary, Nullable: true}
	}
	object := func(name string, members ...*column.Field) *column.Field {
		return &column.Field{Name: name, Kind: column.Struct, Nullable: true, Children: members}
	}
	made := func(name string, t column.Type, width int) *column.Field {
		return &column.Field{Name: name, Kind: column.Fixed, Type: t, Width: width, Made: true}
	}
	return &column.Schema{Fields: []*column.Field{
		int32s("label"), files("img"), object("image", files("bytes"), texts("path"), object("thumb", files("bytes"))),
		{Name: "kind", Kind: column.Binary, Type: column.TypeString, Partition: true},
		listed("views", 0, files("item")), files("img"),
		files("other"), made("", column.TypeInt64, 8), made("", column.TypeInt32, 4),
	}}
}

// imageOf are the options of one column of images.
func imageOf(name string, o images.Options) Options {
	return Options{Images: map[string]images.Options{name: o}}
}

func TestImagesSchema(t *testing.T) {
	small := images.Options{Height: 2, Width: 5}
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"default", imageOf("other", images.Options{}), "other list<list<list<uint8>[224]>[224]>[3]"},
		{"channels last", imageOf("other", images.Options{Height: 2, Width: 5, Layout: images.HWC, DType: images.Float32}), "other list<list<list<float>[3]>[5]>[2]"},
		{"preset", imageOf("other", images.ImageNetTrain()), "other list<list<list<float>[224]>[224]>[3]"},
		{"half", imageOf("other", images.Options{Height: 1, DType: images.Float16}), "other list<list<list<float16>[1]>[1]>[3]"},
		{"brain", imageOf("other", images.Options{Height: 1, DType: images.BFloat16}), "other list<list<list<bfloat16>[1]>[1]>[3]"},
		{"list", imageOf("views", small), "views list<list<list<list<uint8>[5]>[2]>[3]>"},
		{"array", imageOf("other", images.Options{Array: &images.Array{Shape: []int{2, 5}, DType: "int16"}}), "other tensor<int16>[2, 5]"},
		{
			"members",
			Options{Images: map[string]images.Options{"image.bytes": small, "image.thumb.bytes": small}},
			"image struct<bytes: list<list<list<uint8>[5]>[2]>[3], path: string, thumb: struct<bytes: list<list<list<uint8>[5]>[2]>[3]>>",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.o.Validate(); err != nil {
				t.Fatal(err)
			}
			s, err := c.o.Shape(imageSchema())
			if err != nil {
				t.Fatal(err)
			}
			var changed []string
			for i, f := range s.Schema().Fields {
				if was := imageSchema().Fields[i].String(); f.String() != was {
					changed = append(changed, f.Name+" "+f.String())
				}
			}
			if got := strings.Join(changed, ", "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestImagesRefused(t *testing.T) {
	with := func(o Options, name string) Options {
		o.Images = map[string]images.Options{name: {}}
		return o
	}
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"option", imageOf("other", images.Options{Height: -1, Resize: 9}), `Images["other"] is invalid: Height must not be negative, got -1` + "\n" + `Images["other"] is invalid: Resize goes with Crop center; leave it out`},
		{"empty", imageOf("", images.Options{}), `Images[""] must name a column, got an empty name`},
		{"unknown", imageOf("pixels", images.Options{}), `Images["pixels"] does not apply: no such column is read; there is "label", "img", "image", "kind", "views", "other"`},
		{"unknown member", imageOf("image.bits", images.Options{}), `Images["image.bits"] does not apply: no such column is read; there is "image.bytes", "image.path"`},
		{"number", imageOf("label", images.Options{}), `Images["label"] does not apply: it is int32; images are files in a binary column`},
		{"struct", imageOf("image", images.Options{}), `Images["image"] does not apply: it is struct<bytes: binary, path: string, thumb: struct<bytes: binary>>; name the member that holds the file, as in "image.bytes"`},
		{"partition", imageOf("kind", images.Options{}), `Images["kind"] does not apply: it is string; images are files in a binary column`},
		{"list of a member", imageOf("views.bytes", images.Options{}), `Images["views.bytes"] does not apply: no such column is read; there is "label", "img", "image", "kind", "views", "other"`},
		{"two of the name", imageOf("img", images.Options{}), `Images["img"] does not apply: the schema has more than one column of that name`},
		{"hash", with(Options{Features: Features{Hash: map[string]int64{"oth*": 3}}}, "other"), `Images["other"] contradicts Hash, which has the column too; leave one of the two out`},
		{
			"stack", with(Options{Features: Features{Hash: map[string]int64{"other": 3}, Stack: []Stack{{Name: "x", Columns: []string{"other"}, Type: column.TypeInt64}}}}, "other"),
			`Images["other"] contradicts Hash, which has the column too; leave one of the two out` + "\n" + `Images["other"] contradicts Stack, which has the column too; leave one of the two out`,
		},
		{"cast", with(Options{Features: Features{Cast: map[string]DType{"other": {Type: column.TypeInt8}}}}, "other"), `Images["other"] contradicts Cast, which has the column too; leave one of the two out`},
		{"fill", with(Options{Fill: []Fill{{"other", ""}}}, "other"), `Images["other"] contradicts Fill, which has the column too; leave one of the two out`},
		{"pad", with(Options{Pad: []Padding{{Column: "other"}}}, "other"), `Pad["other"] does not apply: it is list<list<list<uint8>[224]>[224]>[3]; only ragged lists are padded`},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.o.Validate()
			if err == nil {
				err = c.o.Check(imageSchema())
			}
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// An advised name is one that images can have, however lists and structs are nested.
func TestImagesAdviceHolds(t *testing.T) {
	structOf := func(name string, members ...*column.Field) *column.Field {
		return &column.Field{Name: name, Kind: column.Struct, Children: members}
	}
	member := func() *column.Field {
		return &column.Field{Name: "bytes", Kind: column.Binary, Type: column.TypeBinary}
	}
	file := func() *column.Field { return structOf("item", member()) }
	list := func(name string, item *column.Field) *column.Field {
		return &column.Field{Name: name, Kind: column.List, Children: []*column.Field{item}}
	}
	for _, c := range []struct {
		name, at, want string
		root           *column.Field
	}{
		{"struct", "x", `as in "x.bytes"`, structOf("x", file().Children...)},
		{"list", "x", `as in "x.bytes"`, list("x", file())},
		{"struct in struct", "x.item", `as in "x.item.bytes"`, structOf("x", file())},
		{"struct in struct of a list", "x.item", `as in "x.item.bytes"`, list("x", structOf("item", file()))},
		{"struct of structs", "x", "name the member that holds the file", structOf("x", file())},
		{"list in struct", "x.images", "in a list within another column", structOf("x", list("images", file()))},
		{"list in struct in list", "x.images", "in a list within another column", list("x", structOf("item", list("images", file())))},
		{"list of lists", "x", "images are files in a binary column", list("x", list("item", file()))},
		{"map", "x", "images are files in a binary column", &column.Field{Name: "x", Kind: column.Map, Children: []*column.Field{structOf("entries", texts("key"), structOf("value", member()))}}},
		{"two of the name", "x", "name the member that holds the file", structOf("x", member(), member())},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := imageSchema()
			s.Fields = append([]*column.Field{c.root}, s.Fields...)
			err := imageOf(c.at, images.Options{}).Check(s)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			_, advice, advised := strings.Cut(err.Error(), "as in ")
			if advised != strings.HasPrefix(c.want, "as in ") {
				t.Errorf("unexpected advice: %v", err)
			}
			if advised {
				if err := imageOf(strings.Trim(advice, `"`), images.Options{}).Check(s); err != nil {
					t.Errorf("the advised name is refused: %v", err)
				}
			}
		})
	}
}

func TestImagesNeedOthers(t *testing.T) {
	o := imageOf("other", images.Options{})
	s := imageSchema()
	s.Fields = s.Fields[:len(s.Fields)-2]
	if err := o.Check(s); err == nil || err.Error() != "Images needs a data set with RowKeys" {
		t.Errorf("without row keys: got %v", err)
	}
	s = imageSchema()
	s.Fields = append(s.Fields, &column.Field{Name: rowgroup.LengthsColumn, Kind: column.List, Made: true, Children: []*column.Field{int32s("item")}})
	if err := o.Check(s); err == nil || err.Error() != `Images["other"] contradicts Pack, whose rows are blocks of tokens; leave one of the two out` {
		t.Errorf("packed: got %v", err)
	}
}

// The numbers are fixed for ever: a run that is resumed with a later version repeats its crops.
func TestImageNumberGolden(t *testing.T) {
	for name, want := range map[string]uint64{"img": 0xab9cee192bd27584, "image.bytes": 0xb0c3b8fe9df4d63f} {
		if got := uint64(imageNumber(name)); got != want {
			t.Errorf("%s: got %#x, want %#x", name, got, want)
		}
	}
}
