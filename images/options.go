package images

import (
	"math"

	"github.com/shardfeed/shardfeed/images/augment"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/image/resize"
	"github.com/shardfeed/shardfeed/internal/option"
)

// A Crop is which part of a picture becomes the image.
type Crop string

// The crops.
const (
	CropNone          Crop = ""               // all of it, scaled to Height x Width
	CropCenter        Crop = "center"         // Resize, then the center: for evaluation
	CropRandomResized Crop = "random_resized" // a random part, scaled: RandomResizedCrop
	CropLetterbox     Crop = "letterbox"      // all of it, scaled to fit, with Fill around it
	CropScaleJitter   Crop = "scale_jitter"   // scaled to fit, times a random factor: ScaleJitter; a part of it, or with Fill
)

// A Layout is the order of a tensor's dimensions.
type Layout string

// The layouts.
const (
	CHW Layout = "CHW" // channels first, as torch has them
	HWC Layout = "HWC"
)

// A DType is a tensor's element.
type DType string

// The types. Without Mean and Std the floats are 0 to 1.
const (
	Uint8    DType = "uint8"
	Float32  DType = "float32"
	Float16  DType = "float16"
	BFloat16 DType = "bfloat16"
	Uint16   DType = "uint16" // samples of 16 bits, and of 8 times 257; masks are as they are stored
)

// An Interpolation is the filter of the resize. Bilinear and Bicubic are antialiased.
type Interpolation string

// The filters. The nearest ones take samples as they are: for masks.
const (
	Bilinear     Interpolation = "bilinear"
	Bicubic      Interpolation = "bicubic"
	Nearest      Interpolation = "nearest"       // torch's: the sample at out x scale
	NearestExact Interpolation = "nearest-exact" // Pillow's: at (out + 1/2) x scale
)

// A Range is the interval from which a factor is drawn. {0, 0} skips the step.
type Range [2]float64

// A Jitter is torchvision's ColorJitter with the ranges of the factors: its brightness=0.4 is
// {0.6, 1.4}, its hue=0.1 is {-0.1, 0.1}. The steps are taken in random order.
type Jitter struct {
	Brightness, Contrast, Saturation, Hue Range
}

func (j Jitter) on() bool { return j != Jitter{} }

func (j Jitter) spans() [4][2]float64 {
	return [4][2]float64{j.Brightness, j.Contrast, j.Saturation, j.Hue}
}

// A Color is an option that is a color: of each channel, from 0 to 255, or to 65,535 for uint16. Of
// one channel only the first number counts. It is the same color in files of 8 and of 16 bits.
type Color struct {
	Given    bool
	Channels [3]int
}

// Options describes the transforms of an image.
type Options struct {
	// Of names the column with the files, for several results of one column: each has a name of its
	// own, under which its options are given. "" means that name.
	Of string

	// Like names the column whose draw this one shares: its size, crop and flip, for pictures of
	// the same size. The options of the geometry are zero then. See [Options.Follow].
	Like string

	// Channels is 3 for RGB, 4 for RGB and alpha, which is opaque in files without alpha, or 1: gray,
	// and with a nearest filter the samples as they are stored, of 8 or 16 bits, or the indices of a
	// palette. 0 means 3.
	Channels int

	// Height and Width are the size of the result. Height 0 means 224, Width 0 means Height.
	Height, Width int

	// Views is the number of tensors of a picture, each with a draw of its own: a row's tensor is
	// [Views, channels, height, width]. 0 means one, without that dimension.
	Views int

	// Crop is which part is taken.
	Crop Crop

	// Resize is the length of the shorter side before a center crop. 0 means the longer one of
	// Height and Width.
	Resize int

	// Scale and Ratio are the random crop's share of the area, and its width by its height. {0,
	// 0} means {0.08, 1} and {3/4, 4/3}. Of CropScaleJitter, Scale is the factor, and {0, 0} means
	// {0.1, 2}.
	Scale, Ratio Range

	// Fill is the color around a picture that is scaled to less than the result: of each channel,
	// from 0 to 255, or to 65,535 for uint16.
	Fill [3]int

	// Background is the color under pictures with alpha. Otherwise alpha is dropped.
	Background Color

	// Null is the color of the image of a row without a file. Without it such a row is an error.
	Null Color

	// Geometry adds two columns, NAME_size and NAME_box: see [Options.View].
	Geometry bool

	// Interpolation is the filter. "" means bilinear.
	Interpolation Interpolation

	// Flip is the probability of a horizontal flip.
	Flip float64

	// ColorJitter changes the colors at random.
	ColorJitter Jitter

	// Augment changes the image after all that, before it is normalised: its 8-bit pixels of the
	// size of the result. It needs three channels.
	Augment augment.Steps

	// Mean and Std normalise the floats: (v/255 - Mean) / Std, by channel.
	Mean, Std [3]float32

	// Layout is the order of the dimensions. "" means CHW.
	Layout Layout

	// DType is the type of the elements. "" means uint8. Uint16 and floats keep samples of 16
	// bits; floats with ColorJitter or Augment are made of their upper 8, and Uint16 excludes
	// these two.
	DType DType

	// IgnoreOrientation takes the picture as it is stored. Otherwise it is turned as its EXIF
	// orientation says: as a person sees it.
	IgnoreOrientation bool

	// Exact refuses pictures that are not Width x Height as they are stored.
	Exact bool

	// ReducingGap lets a JPEG be decoded at 1/2, 1/4 or 1/8 where the crop is then still this
	// many times as large as the result: quick, and nearly the same pixels. The name is Pillow's.
	// 0 means 2; a negative number never does it.
	ReducingGap float64

	// MaxBytes, MaxPixels and MaxScans limit a file: its bytes, width x height, and scans of a
	// progressive JPEG. 0 means 256 MiB, 89,478,485 (Pillow's limit) and 100.
	MaxBytes, MaxPixels, MaxScans int

	// Array reads numpy's arrays in place of images. All other options are zero then.
	Array *Array

	// Declared decodes the column as petastorm's schema beside the shards declares it. All other
	// options are zero then.
	Declared bool
}

// The mean and the standard deviation of ImageNet's channels.
var (
	imageNetMean = [3]float32{0.485, 0.456, 0.406}
	imageNetStd  = [3]float32{0.229, 0.224, 0.225}
)

// ImageNetTrain is the training transform of torchvision's references: a random resized crop to
// 224, and a flip of every other image; float32.
func ImageNetTrain() Options {
	return Options{Height: 224, Crop: CropRandomResized, Flip: 0.5, DType: Float32, Mean: imageNetMean, Std: imageNetStd}
}

// ImageNetEval is the evaluation transform: the shorter side to 256, the center of 224; float32.
func ImageNetEval() Options {
	return Options{Height: 224, Resize: 256, Crop: CropCenter, DType: Float32, Mean: imageNetMean, Std: imageNetStd}
}

// withDefaults fills in defaults.
func (o Options) withDefaults() Options {
	if o.Channels == 0 {
		o.Channels = 3
	}
	if o.Height == 0 {
		o.Height = 224
	}
	if o.Width == 0 {
		o.Width = o.Height
	}
	if o.Resize == 0 {
		o.Resize = max(o.Height, o.Width)
	}
	if o.Scale == (Range{}) {
		if o.Scale = (Range{0.08, 1}); o.Crop == CropScaleJitter {
			o.Scale = Range{0.1, 2}
		}
	}
	if o.Ratio == (Range{}) {
		o.Ratio = Range{3. / 4, 4. / 3}
	}
	if o.Interpolation == "" {
		o.Interpolation = Bilinear
	}
	if o.Layout == "" {
		o.Layout = CHW
	}
	if o.DType == "" {
		o.DType = Uint8
	}
	if o.ReducingGap == 0 {
		o.ReducingGap = 2
	}
	if o.Std == ([3]float32{}) {
		o.Std = [3]float32{1, 1, 1}
	}
	return o
}

const (
	maxSide  = 1 << 14 // of a result
	maxViews = 1 << 8
	maxScale = 10 // of CropScaleJitter
)

// An OptionError reports an invalid option.
type OptionError = option.Error

// Validate lists all problems, each an OptionError.
func (o Options) Validate() error {
	p := option.List{New: option.NewError}
	if o.Declared {
		if o != (Options{Declared: true}) {
			p.Add("Declared", "excludes the options of images")
		}
		return p.Err()
	}
	if o.Array != nil {
		if o != (Options{Array: o.Array}) {
			p.Add("Array", "excludes the options of images")
		}
		o.Array.validate(&p)
		return p.Err()
	}
	p.Within("Height", int64(o.Height), maxSide)
	p.Within("Width", int64(o.Width), maxSide)
	p.Within("Resize", int64(o.Resize), maxSide)
	p.Within("Views", int64(o.Views), maxViews)
	p.OneOf("Crop", string(o.Crop), string(CropCenter), string(CropRandomResized), string(CropLetterbox), string(CropScaleJitter))
	p.OneOf("Interpolation", string(o.Interpolation), string(Bilinear), string(Bicubic), string(Nearest), string(NearestExact))
	p.OneOf("Layout", string(o.Layout), string(CHW), string(HWC))
	p.OneOf("DType", string(o.DType), string(Uint8), string(Float32), string(Float16), string(BFloat16), string(Uint16))
	for _, n := range []struct {
		name  string
		value int
	}{{"MaxBytes", o.MaxBytes}, {"MaxPixels", o.MaxPixels}, {"MaxScans", o.MaxScans}} {
		p.Within(n.name, int64(n.value), math.MaxInt32)
	}
	o.validateCrop(&p)
	o.validateColors(&p)
	o.validatePair(&p)
	o.validateAugment(&p)
	return p.Err()
}

func (o Options) validateCrop(p *option.List) {
	d := o.withDefaults()
	if o.Crop == CropCenter && d.Resize < max(d.Height, d.Width) {
		p.Add("Resize", "must be at least the crop's longer side %d, got %d", max(d.Height, d.Width), o.Resize)
	}
	if o.Crop != CropCenter && o.Resize != 0 {
		p.Add("Resize", "goes with {Crop} center; leave it out")
	}
	jitters := o.Crop == CropScaleJitter
	if o.Crop != CropRandomResized && (o.Scale != Range{} && !jitters || o.Ratio != Range{}) {
		p.Add("Scale", "and {Ratio} go with {Crop} random_resized, and {Scale} with scale_jitter")
	}
	most := 1.0
	if jitters {
		most = maxScale
	}
	if s := d.Scale; !(s[0] > 0 && s[0] <= s[1] && s[1] <= most) {
		p.Add("Scale", "must be two numbers above 0 and at most %v, the smaller one first, got %v", most, s)
	}
	if r := d.Ratio; !(r[0] > 0 && r[0] <= r[1] && r[1] <= 1000) {
		p.Add("Ratio", "must be two numbers above 0 and at most 1000, the smaller one first, got %v", r)
	}
	if !(o.Flip >= 0 && o.Flip <= 1) {
		p.Add("Flip", "must be 0 to 1, got %v", o.Flip)
	}
	if math.IsNaN(o.ReducingGap) || o.ReducingGap > 0 && o.ReducingGap < 1 {
		p.Add("ReducingGap", "must be at least 1, or negative to decode at full size, got %v", o.ReducingGap)
	}
}

func (o Options) validateColors(p *option.List) {
	check := func(name string, r Range, least, most float64) {
		if !(r[0] >= least && r[0] <= r[1] && r[1] <= most) {
			p.Add("ColorJitter."+name, "must be two numbers from %v to %v, the smaller one first, got %v", least, most, r)
		}
	}
	check("Brightness", o.ColorJitter.Brightness, 0, 100)
	check("Contrast", o.ColorJitter.Contrast, 0, 100)
	check("Saturation", o.ColorJitter.Saturation, 0, 100)
	check("Hue", o.ColorJitter.Hue, -0.5, 0.5)
	normalised := o.Mean != [3]float32{} || o.Std != [3]float32{}
	if d := o.withDefaults().DType; normalised && (d == Uint8 || d == Uint16) {
		p.Add("Mean", "and {Std} need {DType} float32, float16 or bfloat16; whole numbers are not normalised")
	}
	for c, s := range o.withDefaults().Std {
		if m := float64(o.Mean[c]); !(s > 0) || math.IsInf(float64(s), 0) || math.IsNaN(m) || math.IsInf(m, 0) {
			p.Add("Std", "must be above 0 and {Mean} finite, got %v and %v for channel %d", s, m, c)
		}
	}
}

func (o Options) validateAugment(p *option.List) {
	if !o.Augment.On() {
		return
	}
	d := o.withDefaults()
	o.Augment.Check(d.Width, d.Height, p.Add)
	if d.Channels != 3 {
		p.Add("Augment", "needs {Channels} 3")
	}
	if o.Augment.Moves() && o.Geometry {
		p.Add("Augment", "shears, moves and turns the image, so that {Geometry} would not fit it; leave one of the two out")
	}
	if o.Augment.Moves() && o.Like != "" {
		p.Add("Augment", "shears, moves and turns the image, and column %q, whose draw it shares, would not fit it; leave one of the two out", o.Like)
	}
}

// Shape is the shape of a picture's tensor with all views, or of an array.
func (o Options) Shape() (shape []int) {
	if o.Array != nil {
		return o.Array.Shape
	}
	o = o.withDefaults()
	if o.Views > 0 {
		shape = append(shape, o.Views)
	}
	if o.Layout == HWC {
		return append(shape, o.Height, o.Width, o.Channels)
	}
	return append(shape, o.Channels, o.Height, o.Width)
}

// Bytes is the size of a picture's tensor with all views, or of an array.
func (o Options) Bytes() int {
	if o.Array != nil {
		return o.Array.items() * o.Array.width()
	}
	o = o.withDefaults()
	return max(1, o.Views) * o.Channels * o.Height * o.Width * o.DType.size()
}

func (d DType) size() int {
	switch d {
	case Float32:
		return 4
	case Float16, BFloat16, Uint16:
		return 2
	}
	return 1
}

func (o Options) filter() resize.Filter {
	if o.Interpolation == Bicubic {
		return resize.Bicubic
	}
	return resize.Bilinear
}

// Limits returns the limits of a file, with defaults filled in.
func (o Options) Limits() codec.Limits { return o.limits().WithDefaults() }

func (o Options) limits() codec.Limits {
	return codec.Limits{MaxBytes: o.MaxBytes, MaxPixels: o.MaxPixels, MaxScans: o.MaxScans}
}
