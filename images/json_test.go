package images

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// Options survive JSON, and no field of them is left out of it.
func TestJSON(t *testing.T) {
	all := Options{
		Of: "file", Like: "img", Views: 2, Channels: 1, Fill: [3]int{1, 2, 3}, Geometry: true, Background: Color{Given: true, Channels: [3]int{7, 8, 9}}, Null: Color{Given: true, Channels: [3]int{4, 5, 6}},
		Height: 192, Width: 224, Crop: CropRandomResized, Resize: 256, Scale: Range{0.2, 0.9}, Ratio: Range{0.5, 2}, Interpolation: Bicubic, Flip: 0.25,
		ColorJitter: Jitter{Brightness: Range{0.6, 1.4}, Contrast: Range{0.7, 1.3}, Saturation: Range{0.8, 1.2}, Hue: Range{-0.1, 0.1}},
		Mean:        [3]float32{0.1, 0.2, 0.3}, Std: [3]float32{0.4, 0.5, 0.6}, Layout: HWC, DType: BFloat16, IgnoreOrientation: true, ReducingGap: -1,
		MaxBytes: 1, MaxPixels: 2, MaxScans: 3, Array: &Array{Shape: []int{3, 4}, DType: "int8"}, Declared: true, Exact: true, Augment: someSteps,
	}
	for i, v := 0, reflect.ValueOf(all); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("the test leaves out %s", v.Type().Field(i).Name)
		}
	}
	for name, o := range map[string]Options{"all": all, "zero": {}, "training": ImageNetTrain(), "evaluation": ImageNetEval()} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			var got Options
			if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, o) {
				t.Errorf("%+v of %s, want %+v, %v", got, text, o, err)
			}
		})
	}
}

func TestJSONReads(t *testing.T) {
	for text, want := range map[string]Options{
		`{}`:                        {},
		`{"size": []}`:              {},
		`{"size": [96]}`:            {Height: 96},
		`{"size": null, "flip": 0}`: {},
		`{"size": [96, 128]}`:       {Height: 96, Width: 128},
		`{"exif": true}`:            {},
		`{"exif": false}`:           {IgnoreOrientation: true},
		`{"scale": [0.5, 1]}`:       {Scale: Range{0.5, 1}},
		`{"color_jitter": {"hue": [-0.1, 0.1]}, "mean": null}`: {ColorJitter: Jitter{Hue: Range{-0.1, 0.1}}},
	} {
		t.Run(text, func(t *testing.T) {
			var got Options
			if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
				t.Errorf("%+v, want %+v, %v", got, want, err)
			}
		})
	}
}

// A misspelt member is never ignored.
func TestJSONRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"sise": [96]}`:                      `unknown field "sise"`,
		`{"color_jitter": {"gamma": [0, 1]}}`: `unknown field "gamma"`,
		`{"size": [1, 2, 3]}`:                 "size must be a height and a width, got 3 numbers",
		`{"size": 96}`:                        "size",
	} {
		t.Run(text, func(t *testing.T) {
			var o Options
			if err := json.Unmarshal([]byte(text), &o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}
