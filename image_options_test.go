package shardfeed

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/internal/option"
)

// What is wrong with the options of an image is named by its column, in Python's words too.
func TestImagesRefused(t *testing.T) {
	s := Spec{Addresses: []string{shop}, Images: map[string]images.Options{
		"img": {Height: -1, ColorJitter: images.Jitter{Hue: images.Range{-1, 1}}}, "thumb": {Resize: 99, IgnoreOrientation: true},
	}, ImageDecoder: "nvjpeg"}
	want := []string{
		`image_decoder must be auto, turbo or go, got "nvjpeg"`, `images["img"] is invalid: size must not be negative, got -1`,
		`images["img"] is invalid: color_jitter must be two numbers from -0.5 to 0.5`, `images["thumb"] is invalid: resize goes with crop center; leave it out`,
	}
	err := s.Validate()
	if err == nil {
		t.Fatal("allowed")
	}
	got := strings.Split(option.Spelled(err, option.Argument), "\n")
	if len(got) != len(want) {
		t.Fatalf("%q, want %q", got, want)
	}
	for i, text := range want {
		if !strings.Contains(got[i], text) {
			t.Errorf("%s, want %s", got[i], text)
		}
	}
}

// Images reach the engine through JSON, and misspelt members do not.
func TestImagesInJSON(t *testing.T) {
	var s Spec
	text := `{"images": {"img": {"size": [96, 128], "crop": "random_resized", "color_jitter": {"hue": [-0.1, 0.1]}}}, "image_decoder": "go"}`
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	want := images.Options{Height: 96, Width: 128, Crop: images.CropRandomResized, ColorJitter: images.Jitter{Hue: images.Range{-0.1, 0.1}}}
	if s.Images["img"] != want || s.ImageDecoder != GoDecoder {
		t.Errorf("%+v decoded by %q", s.Images["img"], s.ImageDecoder)
	}
	if err := json.Unmarshal([]byte(`{"images": {"img": {"crops": ""}}}`), &s); err == nil {
		t.Error("a misspelt member is ignored")
	}
}

// Ranks that augment differently do not read the same data: they have to tell that from each
// other.
func TestChosenImages(t *testing.T) {
	chosen := func(all map[string]images.Options) string {
		return (&Dataset{spec: Spec{Images: all}}).Chosen()["Images"]
	}
	train := map[string]images.Options{"img": images.ImageNetTrain()}
	if a, b := chosen(train), chosen(map[string]images.Options{"img": images.ImageNetEval()}); a == b || a == "" {
		t.Errorf("%s and %s", a, b)
	}
	if text := chosen(nil); text != "" {
		t.Errorf("no images are %q", text)
	}
}

// Images reach the loader, which needs the rows' keys for what is random. This package links no
// libjpeg-turbo, so a spec that insists on it is refused unless the program gives the loader one.
func TestImagesReachTheLoader(t *testing.T) {
	s := Spec{Addresses: []string{shop}, Images: map[string]images.Options{"img": images.ImageNetTrain()}}
	o := s.LoaderOptions()
	if o.Images["img"] != images.ImageNetTrain() || o.ImageDecoder != nil || o.ImageParallel != o.Workers || !s.Reading().RowKeys || (Spec{}).Reading().RowKeys {
		t.Errorf("%+v", o.Images)
	}
	s.ImageDecoder = TurboDecoder
	if d, err := s.LoaderOptions().ImageDecoder(); err == nil || d != nil || !strings.Contains(err.Error(), "ImageDecoder is turbo, which this program has not loaded") {
		t.Errorf("%v, %v", d, err)
	}
}
