package loader

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

func TestColumn(t *testing.T) {
	inner := &column.Field{Name: "meta", Kind: column.Struct, Children: []*column.Field{int32s("width"), int32s("a.b")}}
	b := batchOf(
		build(t, inner, `[{"width":640,"a.b":1}]`),
		build(t, int32s("meta.width"), `[7]`),
		build(t, int32s("twice"), `[1]`), build(t, int32s("twice"), `[2]`),
		build(t, texts("name"), `["x"]`),
	)
	for _, c := range []struct{ name, want string }{
		{"meta", `[{"width":640,"a.b":1}]`},
		{"meta.width", `[7]`}, // the exact name wins
		{"meta.a.b", `[1]`},
		{"name", `["x"]`},
		{"twice", `loader: column "twice": the batch has more than one "twice"; take it by its place`},
		{"names", `loader: the batch has no column "names"`},
		{"name.x", `loader: the batch has no column "name.x"`},
		{"meta.height", `loader: the batch has no column "meta.height"`},
		{"", `loader: the batch has no column ""`},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := b.Column(c.name)
			got := fmt.Sprint(err)
			if err == nil {
				got = show(a)
			}
			if got != c.want {
				t.Errorf("%q:\n got %s\nwant %s", c.name, got, c.want)
			}
		})
	}
}

func TestAddTensor(t *testing.T) {
	b := batchOf(build(t, int32s("n"), `[1,2]`))
	v, err := AddTensor[float32](b, "image", 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range v {
		if v[i] != 0 {
			t.Fatalf("value %d is %v, not zero", i, v[i])
		}
		v[i] = float32(i)
	}
	a, err := b.Column("image")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show(a), `[[[0,1,2],[3,4,5]],[[6,7,8],[9,10,11]]]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := fmt.Sprint(column.Shape(a)); got != "[2 2 3]" {
		t.Errorf("shape %s", got)
	}
	if b.Bytes() != 48 {
		t.Errorf("%d bytes were counted", b.Bytes())
	}
	for _, c := range []struct {
		name string
		dims []int
		want string
	}{
		{"image", nil, `loader: the batch has a column "image" already`},
		{"none", []int{0}, `loader: column "none": a dimension of 0`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := AddTensor[bool](b, c.name, c.dims...); err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestAddRemove(t *testing.T) {
	b := batchOf(build(t, int32s("n"), `[1,2]`), build(t, texts("s"), `["a","b"]`), build(t, int32s("m"), `[1,2]`))
	if err := b.Add(build(t, int32s("short"), `[1]`)); err == nil || err.Error() != `loader: column "short" has 1 rows, the batch has 2` {
		t.Errorf("got %v", err)
	}
	if err := b.Add(build(t, int32s("x"), `[3,4]`)); err != nil {
		t.Error(err)
	}
	if err := b.Remove("s", "n"); err != nil {
		t.Error(err)
	}
	if err := b.Remove("s"); err == nil || err.Error() != `loader: the batch has no column "s"` {
		t.Errorf("got %v", err)
	}
	if got := b.String(); got != "epoch 0, step 0: 2 rows: m int32, x int32" {
		t.Error(got)
	}
}

func TestRelease(t *testing.T) {
	m := &heapMemory{}
	b := batchOf(build(t, int32s("n"), `[1]`))
	b.memory, b.Data = m, "mine"
	b.Release()
	b.Release()
	if m.frees != 1 {
		t.Errorf("freed %d times", m.frees)
	}
	_, e1 := b.Column("n")
	_, e2 := b.Alloc(1)
	_, e3 := AddTensor[int32](b, "x")
	for i, err := range []error{e1, e2, e3, b.Add(nil), b.Remove("n")} {
		if !errors.Is(err, column.ErrReleased) {
			t.Errorf("use %d: got %v", i, err)
		}
	}
	if b.Columns != nil || b.Data != nil || !strings.HasSuffix(b.String(), "released") {
		t.Errorf("something is left: %v", b)
	}
}

func TestBatchString(t *testing.T) {
	b := batchOf(build(t, int32s("n"), `[1,2]`), build(t, listed("v", 2, int32s("item")), `[[1,2],[3,4]]`))
	b.Epoch, b.Step, b.Valid = 3, 7, 1
	if got, want := b.String(), "epoch 3, step 7: 2 rows (1 count): n int32, v list<int32>[2]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := b.Alloc(-1); err == nil {
		t.Error("a negative number of bytes was given")
	}
}
