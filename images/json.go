package images

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/shardfeed/shardfeed/images/augment"
)

// inJSON is Options in JSON, under the names that Python has for them. What is left out is the
// default.
type inJSON struct {
	Of            string        `json:"of,omitempty"`
	Like          string        `json:"like,omitempty"`
	Channels      int           `json:"channels,omitempty"`
	Size          []int         `json:"size,omitempty"` // height and width
	Views         int           `json:"views,omitempty"`
	Crop          Crop          `json:"crop,omitempty"`
	Resize        int           `json:"resize,omitempty"`
	Scale         Range         `json:"scale,omitzero"`
	Ratio         Range         `json:"ratio,omitzero"`
	Flip          float64       `json:"flip,omitempty"`
	ColorJitter   jitterInJSON  `json:"color_jitter,omitzero"`
	Augment       augment.Steps `json:"augment,omitzero"`
	Fill          [3]int        `json:"fill,omitzero"`
	Background    *[3]int       `json:"background,omitempty"`
	Null          *[3]int       `json:"null,omitempty"`
	Geometry      bool          `json:"geometry,omitempty"`
	Interpolation Interpolation `json:"interpolation,omitempty"`
	Mean          [3]float32    `json:"mean,omitzero"`
	Std           [3]float32    `json:"std,omitzero"`
	Layout        Layout        `json:"layout,omitempty"`
	DType         DType         `json:"dtype,omitempty"`
	EXIF          *bool         `json:"exif,omitempty"` // turn the picture upright; nil is true
	Exact         bool          `json:"exact,omitempty"`
	ReducingGap   float64       `json:"reducing_gap,omitempty"`
	MaxBytes      int           `json:"max_bytes,omitempty"`
	MaxPixels     int           `json:"max_pixels,omitempty"`
	MaxScans      int           `json:"max_scans,omitempty"`
	Array         *Array        `json:"array,omitempty"`
	Declared      bool          `json:"declared,omitempty"`
}

type jitterInJSON struct {
	Brightness Range `json:"brightness,omitzero"`
	Contrast   Range `json:"contrast,omitzero"`
	Saturation Range `json:"saturation,omitzero"`
	Hue        Range `json:"hue,omitzero"`
}

// MarshalJSON writes the options under the names that Python has for them, as {"size": [224, 224],
// "crop": "random_resized", "color_jitter": {"brightness": [0.6, 1.4]}}.
func (o Options) MarshalJSON() ([]byte, error) {
	j := inJSON{
		Of: o.Of, Like: o.Like, Views: o.Views, Channels: o.Channels, Crop: o.Crop, Resize: o.Resize, Scale: o.Scale, Ratio: o.Ratio, Flip: o.Flip, ColorJitter: jitterInJSON(o.ColorJitter),
		Fill: o.Fill, Geometry: o.Geometry, Interpolation: o.Interpolation, Mean: o.Mean, Std: o.Std, Layout: o.Layout, DType: o.DType, ReducingGap: o.ReducingGap,
		Augment:  o.Augment,
		MaxBytes: o.MaxBytes, MaxPixels: o.MaxPixels, MaxScans: o.MaxScans, Array: o.Array, Declared: o.Declared, Exact: o.Exact,
	}
	if o.Background.Given {
		j.Background = &o.Background.Channels
	}
	if o.Null.Given {
		j.Null = &o.Null.Channels
	}
	if o.Height != 0 || o.Width != 0 {
		j.Size = []int{o.Height, o.Width}
	}
	if upright := !o.IgnoreOrientation; !upright {
		j.EXIF = &upright
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON writes. It refuses members that it does not know.
func (o *Options) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var j inJSON
	if err := d.Decode(&j); err != nil {
		return err
	}
	*o = Options{
		Of: j.Of, Like: j.Like, Views: j.Views, Channels: j.Channels, Crop: j.Crop, Resize: j.Resize, Scale: j.Scale, Ratio: j.Ratio, Flip: j.Flip, ColorJitter: Jitter(j.ColorJitter),
		Fill: j.Fill, Geometry: j.Geometry, Interpolation: j.Interpolation, Mean: j.Mean, Std: j.Std, Layout: j.Layout, DType: j.DType, ReducingGap: j.ReducingGap,
		Augment:  j.Augment,
		MaxBytes: j.MaxBytes, MaxPixels: j.MaxPixels, MaxScans: j.MaxScans, Array: j.Array, Declared: j.Declared, Exact: j.Exact, IgnoreOrientation: j.EXIF != nil && !*j.EXIF,
	}
	if j.Background != nil {
		o.Background = Color{Given: true, Channels: *j.Background}
	}
	if j.Null != nil {
		o.Null = Color{Given: true, Channels: *j.Null}
	}
	switch len(j.Size) {
	case 0:
	case 1:
		o.Height = j.Size[0]
	case 2:
		o.Height, o.Width = j.Size[0], j.Size[1]
	default:
		return fmt.Errorf("size must be a height and a width, got %d numbers", len(j.Size))
	}
	return nil
}
