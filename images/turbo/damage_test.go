package turbo

import (
	"errors"
	"image"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/image/imagetest"
)

// decode decodes a part of a file of any origin, at any scale.
func decode(t testing.TB, d *Decoder, data []byte, r *rand.Rand) error {
	h, err := codec.ReadHeader(data)
	if err == nil {
		err = codec.Limits{MaxPixels: 1 << 18, MaxBytes: 1 << 20, MaxScans: 40}.Check(h)
	}
	if err == nil {
		x, y, denom := r.IntN(h.Width), r.IntN(h.Height), 1<<r.IntN(4)
		part := image.Rect(x, y, x+1+r.IntN(h.Width-x), y+1+r.IntN(h.Height-y))
		var p codec.Pixels
		p, err = d.Decode(data, h, part, denom)
		if err == nil && len(p.RGB) != 3*p.Rect.Dx()*p.Rect.Dy() {
			t.Errorf("%d bytes of pixels for %v", len(p.RGB), p.Rect)
		}
		if err == nil && h.Format == codec.JPEG {
			full := image.Rect(p.Rect.Min.X*denom, p.Rect.Min.Y*denom, p.Rect.Max.X*denom, p.Rect.Max.Y*denom)
			if !part.In(full) || p.Denom != denom {
				t.Errorf("%v at 1/%d is not in %v at 1/%d", part, denom, p.Rect, p.Denom)
			}
		}
	}
	if bad := new(codec.Error); err != nil && !errors.As(err, &bad) {
		t.Errorf("the error is no codec.Error: %v", err)
	}
	return err
}

// Thousands of damaged files end with an error or with pixels.
func TestDamaged(t *testing.T) {
	files := imagetest.Encoded(imagetest.Corpus(t))
	r := rand.New(rand.NewPCG(7, 8))
	d := newDecoder(t)
	failed, n := 0, 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, ".jpg") {
			continue
		}
		for range 100 {
			n++
			if err := decode(t, d, imagetest.Mutate(files[name], r), r); err != nil {
				failed++
			}
		}
	}
	t.Logf("%d of %d failed", failed, n)
	if failed < n/3 {
		t.Errorf("%d of %d damaged files failed", failed, n)
	}
	imagetest.CheckDecoder(t, d, []imagetest.Bound{{Most: 0}}) // it still decodes what is sound
}

func FuzzDecode(f *testing.F) {
	files := imagetest.Encoded(imagetest.Corpus(f))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f.Add(files[name], uint64(1))
	}
	d := newDecoder(f)
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		_ = decode(t, d, data, rand.New(rand.NewPCG(seed, 0)))
	})
}

// Stray bytes between segments do no harm; made-up pixels do.
func TestWarnings(t *testing.T) {
	data := imagetest.Corpus(t)["pil-420-baseline-90x70.jpg"]
	d := newDecoder(t)
	h, err := codec.ReadHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	stray := slices.Concat(data[:len(data)-2], []byte{1, 2, 3}, data[len(data)-2:])
	if _, err := d.Decode(stray, h, h.Bounds(), 1); err != nil {
		t.Errorf("stray bytes: %v", err)
	}
	short := slices.Concat(data[:len(data)-200], data[len(data)-2:])
	if _, err := d.Decode(short, h, h.Bounds(), 1); err == nil || err.Error() != "JPEG: it is damaged: Corrupt JPEG data: premature end of data segment" {
		t.Errorf("missing data: %v", err)
	}
}

// A library that is asked for and is not there, or has not what is needed, is said by its name.
func TestLoad(t *testing.T) {
	needsSupport(t)
	empty := filepath.Join(t.TempDir(), "empty.so")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ path, want string }{
		"absent":  {"/no/such/libturbojpeg.so.0", "/no/such/libturbojpeg.so.0: no such file"},
		"empty":   {empty, "file too short"},
		"another": {"libc.so.6", "libc.so.6 has no tj3Init, tj3Destroy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(libraryVariable, c.path)
			_, err := Load("")
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), libraryVariable) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	t.Setenv(libraryVariable, "")
	if got := candidates(""); len(got) != 2 || filepath.Base(got[0]) != libraryName || got[1] != libraryName {
		t.Errorf("without a path %q are tried", got)
	}
	if l, err := Load(imagetest.Turbo(t)); err != nil || l.Path() == "" {
		t.Errorf("the real one: %v", err)
	}
}

// Decode can be called after Close of another decoder, and twice closed is closed.
func TestClose(t *testing.T) {
	d := newDecoder(t)
	for range 2 {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
