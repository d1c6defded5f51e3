package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/turbo"
	"github.com/shardfeed/shardfeed/internal/image/imagetest"
	"github.com/shardfeed/shardfeed/internal/option"
)

// Which decoder a spec gets, with libjpeg-turbo and without.
func TestImageDecoderOf(t *testing.T) {
	pictures := map[string]images.Options{"img": {}}
	there := func() (*turbo.Library, error) { return turbo.Load(imagetest.Turbo(t)) }
	absent := func() (*turbo.Library, error) { return nil, errors.New("turbo: not found\nlib.so: no such file") }
	for _, c := range []struct {
		name    string
		load    func() (*turbo.Library, error)
		spec    shardfeed.Spec
		want    string
		warning string
		err     string
	}{
		{name: "no images", load: absent, spec: shardfeed.Spec{ImageDecoder: "turbo"}},
		{name: "by default, there", load: there, spec: shardfeed.Spec{Images: pictures}, want: "turbo"},
		{name: "auto, there", load: there, spec: shardfeed.Spec{Images: pictures, ImageDecoder: "auto"}, want: "turbo"},
		{name: "turbo, there", load: there, spec: shardfeed.Spec{Images: pictures, ImageDecoder: "turbo"}, want: "turbo"},
		{name: "go, there", load: there, spec: shardfeed.Spec{Images: pictures, ImageDecoder: "go"}, want: "go"},
		{name: "auto, absent", load: absent, spec: shardfeed.Spec{Images: pictures}, want: "go", warning: "as libjpeg-turbo: turbo: not found; lib.so: no such file"},
		{name: "go, absent", load: absent, spec: shardfeed.Spec{Images: pictures, ImageDecoder: "go"}, want: "go"},
		{
			name: "turbo, absent", load: absent, spec: shardfeed.Spec{Images: pictures, ImageDecoder: "turbo"},
			err: "image_decoder is turbo, which cannot be used here; give go, or auto to fall back to go: turbo: not found; lib.so",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := (&imageDecoders{load: c.load}).of(c.spec)
			if c.err != "" {
				if err == nil || !strings.Contains(option.Spelled(err, option.Argument), c.err) {
					t.Fatalf("%v, want %s", err, c.err)
				}
				return
			}
			if err != nil || d.name != c.want || (d.warning() == "") != (c.warning == "") || !strings.Contains(d.warning(), c.warning) {
				t.Fatalf("%q, warning %q, %v", d.name, d.warning(), err)
			}
			if c.want == "" {
				return
			}
			decoder, err := d.make()
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := decoder.(*turbo.Decoder); ok != (c.want == "turbo") {
				t.Errorf("it is a %T", decoder)
			}
			if err := decoder.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
