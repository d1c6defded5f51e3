package boxes

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"

	"github.com/shardfeed/shardfeed/internal/option"
)

// A Format is the meaning of the numbers of a box or a point, in pixels.
type Format string

// The formats.
const (
	XYXY   Format = "xyxy"   // left, top, right, bottom
	XYWH   Format = "xywh"   // left, top, width, height: COCO
	CXCYWH Format = "cxcywh" // the middle, width, height
	XY     Format = "xy"     // a point
	XYV    Format = "xyv"    // a point, and its visibility: COCO's keypoints
)

// Numbers is how many numbers a box or a point has.
func (f Format) Numbers() int {
	switch f {
	case XY:
		return 2
	case XYV:
		return 3
	}
	return 4
}

func (f Format) point() bool { return f == XY || f == XYV }

// Options describes the boxes or the points of a column.
type Options struct {
	// Of names the column of images whose crop, resize and flip the boxes follow.
	Of string

	// Format is the format of the boxes, before and after. "" means XYXY.
	Format Format

	// Unclipped leaves the parts of boxes that are outside of the image. Otherwise boxes are cut
	// off at its edges, and points outside move to them.
	Unclipped bool

	// MinSize is the width and the height that a box must have within the image, in its pixels, to
	// stay. 0 means 1.
	MinSize float64

	// KeepAll leaves all boxes and points in place. Otherwise boxes that are too small within the
	// image are dropped, and points outside of it.
	KeepAll bool

	// DropWith names columns with lists as long as the boxes', as labels are, whose items are
	// dropped with the boxes.
	DropWith []string
}

// An OptionError reports an invalid option.
type OptionError = option.Error

// Validate lists all problems, each an OptionError.
func (o Options) Validate() error {
	p := option.List{New: option.NewError}
	if o.Of == "" {
		p.Add("Of", "must name a column of images, got an empty name")
	}
	p.OneOf("Format", string(o.Format), string(XYXY), string(XYWH), string(CXCYWH), string(XY), string(XYV))
	if !(o.MinSize >= 0 && o.MinSize <= math.MaxInt32) {
		p.Add("MinSize", "must be a number of at least 0, got %v", o.MinSize)
	}
	if o.Format.point() && o.MinSize != 0 {
		p.Add("MinSize", "is of boxes, and {Format} %q is of points; leave it out", string(o.Format))
	}
	if o.KeepAll && len(o.DropWith) > 0 {
		p.Add("DropWith", "contradicts {KeepAll}, which drops nothing; leave one of the two out")
	}
	if i := slices.Index(o.DropWith, ""); i >= 0 {
		p.Add("DropWith", "must name columns, got an empty name")
	}
	return p.Err()
}

// Regular reports whether the numbers of a column become [boxes, numbers], whatever lists they are
// in. Points that are all kept stay in the lists that they have.
func (o Options) Regular() bool { return !o.Format.point() || !o.KeepAll }

// inJSON is Options in JSON, under the names that Python has for them.
type inJSON struct {
	Of       string   `json:"of"`
	Format   Format   `json:"format,omitempty"`
	Clip     *bool    `json:"clip,omitempty"` // nil is true
	MinSize  float64  `json:"min_size,omitempty"`
	Drop     *bool    `json:"drop,omitempty"` // nil is true
	DropWith []string `json:"drop_with,omitempty"`
}

// MarshalJSON writes the options under the names that Python has for them, as {"of": "image",
// "format": "xywh", "drop_with": ["labels"]}.
func (o Options) MarshalJSON() ([]byte, error) {
	j := inJSON{Of: o.Of, Format: o.Format, MinSize: o.MinSize, DropWith: o.DropWith}
	no := false
	if o.Unclipped {
		j.Clip = &no
	}
	if o.KeepAll {
		j.Drop = &no
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
		Of: j.Of, Format: j.Format, MinSize: j.MinSize, DropWith: j.DropWith,
		Unclipped: j.Clip != nil && !*j.Clip, KeepAll: j.Drop != nil && !*j.Drop,
	}
	return nil
}
