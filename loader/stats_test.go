package loader

import (
	"reflect"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/iterable"
)

func TestStatsString(t *testing.T) {
	s := Stats{
		Batches: 128, Rows: 16384, Held: 2,
		Draws:  Queue{Items: 133, Get: 1200 * time.Millisecond},
		Memory: Queue{Depth: 6, Cap: 8, Items: 134},
		Work:   Queue{Items: 132, Put: 10 * time.Millisecond, Get: 3400 * time.Millisecond},
		Ready:  Queue{Depth: 4, Cap: 4, Items: 128, Put: 900 * time.Microsecond, Get: 250 * time.Millisecond},
		Gather: 2 * time.Second, Pad: time.Millisecond, Transform: time.Minute,
	}
	want := `128 batches, 16384 rows, 2 batches with the consumer
queue      depth     cap     items   blocked in put   blocked in get
draws          0       -       133           0.000s           1.200s
memory         6       8       134           0.000s           0.000s
work           0       -       132           0.010s           3.400s
ready          4       4       128           0.001s           0.250s
stage          gather          pad    transform
time           2.000s       0.001s      60.000s
` + iterable.Stats{}.String()
	if got := s.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Sub takes every counter and leaves every level, in fields that are added later too.
func TestStatsSub(t *testing.T) {
	fill := func(n int64) (s Stats) {
		var set func(v reflect.Value)
		set = func(v reflect.Value) {
			for i := range v.NumField() {
				switch f := v.Field(i); f.Kind() {
				case reflect.Struct:
					set(f)
				case reflect.Array:
					for i := range f.Len() {
						f.Index(i).SetInt(n)
					}
				default:
					f.SetInt(n)
				}
			}
		}
		set(reflect.ValueOf(&s).Elem())
		return s
	}
	want := fill(4)
	want.Held = 7
	for _, q := range []*Queue{&want.Draws, &want.Memory, &want.Work, &want.Ready} {
		q.Depth, q.Cap = 7, 7
	}
	late, early := fill(7), fill(3)
	want.Stream = late.Stream.Sub(early.Stream)
	if got := late.Sub(early); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestStatsOfLoader(t *testing.T) {
	for _, workers := range []int{0, 2} {
		l, opened := fakeLoader(t, Options{Workers: workers, Transforms: []Transform{{Apply: jitter}}}, 20, nil)
		if _, err := steps(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		s := l.Stats()
		if s.Batches != 20 || s.Rows != 20 || s.Held != 0 || s.Ready.Items != 20 || s.Draws.Items != 20 || s.Memory.Items != 20 {
			t.Errorf("workers %d: got\n%v", workers, s)
		}
		if waited := s.Wait.Sum(); waited > s.Ready.Get || waited < s.Ready.Get-time.Millisecond { // Ready counts the look for the end too
			t.Errorf("workers %d: waited %v by cause, and %v in all", workers, waited, s.Ready.Get)
		}
		if s.Transform == 0 || s.Transform > 20*time.Minute || s.Ready.Get == 0 || s.Stream.Rows != 21 {
			t.Errorf("workers %d: got\n%v", workers, s)
		}
		if got := s.Work.Items; got != int64(20*min(workers, 1)) {
			t.Errorf("workers %d: %d draws went to workers", workers, got)
		}
		nothingLeft(t, l, *opened)
	}
}
