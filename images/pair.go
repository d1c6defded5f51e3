package images

import (
	"cmp"
	"fmt"
	"image"
	"slices"

	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/option"
)

// Follow returns the options of a column that shares the draw of lead: with the geometry of lead,
// and with its own channels, filter, colors and type. Draw then returns lead's crop and flip for
// lead's seed and a picture of the same size.
func (o Options) Follow(lead Options) Options {
	o.Like = ""
	o.Height, o.Width, o.Crop, o.Resize = lead.Height, lead.Width, lead.Crop, lead.Resize
	o.Scale, o.Ratio, o.Flip, o.Views = lead.Scale, lead.Ratio, lead.Flip, lead.Views
	o.IgnoreOrientation, o.Exact = lead.IgnoreOrientation, lead.Exact
	return o
}

// Source returns the column with the files, for options that are given under a name.
func (o Options) Source(name string) string { return cmp.Or(o.Of, name) }

// CanLead returns an error for options whose draw no other column can share.
func (o Options) CanLead() error {
	switch {
	case o.Like != "":
		return fmt.Errorf("that column shares the draw of %q; name that one", o.Like)
	case o.Array != nil || o.Declared:
		return fmt.Errorf("that column has arrays, or is decoded as it is declared: nothing of it is drawn")
	case o.Augment.Moves():
		return fmt.Errorf("its augment steps shear, move and turn it, which other columns and boxes cannot follow")
	}
	return nil
}

func (o Options) validatePair(p *option.List) {
	if own := o; o.Like != "" {
		own.Like = ""
		if own != o.Follow(Options{}) {
			p.Add("Like", "shares the size, the views, the crop, the flip and the orientation of column %q; leave out {Height}, {Width}, {Views}, {Crop}, {Resize}, {Scale}, {Ratio}, {Flip} and {IgnoreOrientation}", o.Like)
		}
	}
	if o.Channels != 0 && o.Channels != 1 && o.Channels != 3 && o.Channels != 4 {
		p.Add("Channels", "must be 1, 3 or 4, got %d", o.Channels)
	}
	d := o.withDefaults()
	if d.Channels == 4 && d.Interpolation.nearest() {
		p.Add("Channels", "4 needs {Interpolation} bilinear or bicubic")
	}
	most := 255
	if d.DType == Uint16 {
		most = 65535
	}
	within := func(name string, c [3]int) bool {
		if slices.Min(c[:]) >= 0 && slices.Max(c[:]) <= most {
			return true
		}
		p.Add(name, "must be from 0 to %d, got %v", most, c)
		return false
	}
	within("Null", o.Null.Channels)
	if within("Background", o.Background.Channels) && o.Background.Given && d.Channels != 3 {
		p.Add("Background", "needs {Channels} 3: samples of one channel are taken without alpha, and four channels keep it")
	}
	if within("Fill", o.Fill) && o.Fill != [3]int{} && o.Crop != CropLetterbox && o.Crop != CropScaleJitter && o.Like == "" {
		p.Add("Fill", "goes with {Crop} letterbox or scale_jitter; leave it out")
	}
	if d.Channels != 3 && d.ColorJitter.on() {
		p.Add("ColorJitter", "needs {Channels} 3")
	}
	if d.DType == Uint16 && (d.ColorJitter.on() || d.Augment.On()) {
		p.Add("DType", "uint16 excludes {ColorJitter} and {Augment}, which change 8 bits; leave them out, or give uint8 or a float")
	}
}

func (i Interpolation) nearest() bool { return i == Nearest || i == NearestExact }

// Size returns the size of a picture as the options see it: upright, unless they ignore the
// orientation.
func (o Options) Size(h codec.Header) image.Point {
	if o.IgnoreOrientation {
		h.Orientation = 1
	}
	w, ht := h.Size()
	return image.Pt(w, ht)
}
