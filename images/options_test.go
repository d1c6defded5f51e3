package images

import (
	"math"
	"testing"
)

func TestValidate(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"height":      {Options{Height: -1}, "Height must not be negative, got -1"},
		"width":       {Options{Width: 1 << 20}, "Width must be at most 16384, got 1048576"},
		"crop":        {Options{Crop: "centre"}, `Crop must be center, random_resized, letterbox or scale_jitter, got "centre"`},
		"resize":      {Options{Height: 224, Resize: 200, Crop: CropCenter}, "Resize must be at least the crop's longer side 224, got 200"},
		"resize all":  {Options{Resize: 200}, "Resize goes with Crop center; leave it out"},
		"factor":      {Options{Crop: CropScaleJitter, Scale: Range{0.5, 11}}, "Scale must be two numbers above 0 and at most 10, the smaller one first, got [0.5 11]"},
		"scale alone": {Options{Scale: Range{0.1, 1}}, "Scale and Ratio go with Crop random_resized, and Scale with scale_jitter"},
		"scale":       {Options{Crop: CropRandomResized, Scale: Range{0.5, 2}}, "Scale must be two numbers above 0 and at most 1, the smaller one first, got [0.5 2]"},
		"ratio":       {Options{Crop: CropRandomResized, Ratio: Range{2, 1}}, "Ratio must be two numbers above 0 and at most 1000, the smaller one first, got [2 1]"},
		"flip":        {Options{Flip: math.NaN()}, "Flip must be 0 to 1, got NaN"},
		"hue":         {Options{ColorJitter: Jitter{Hue: Range{-1, 0}}}, "ColorJitter.Hue must be two numbers from -0.5 to 0.5, the smaller one first, got [-1 0]"},
		"mean":        {Options{Mean: [3]float32{0.5, 0.5, 0.5}}, "Mean and Std need DType float32, float16 or bfloat16; whole numbers are not normalised"},
		"std":         {Options{DType: Float32, Std: [3]float32{1, 0, 1}}, "Std must be above 0 and Mean finite, got 0 and 0 for channel 1"},
		"gap":         {Options{ReducingGap: 0.5}, "ReducingGap must be at least 1, or negative to decode at full size, got 0.5"},
		"like":        {Options{Like: "img", Channels: 1, Interpolation: Nearest}, ""},
		"like a size": {Options{Like: "img", Height: 3}, `Like shares the size, the views, the crop, the flip and the orientation of column "img"; leave out Height, Width, Views, Crop, Resize, Scale, Ratio, Flip and IgnoreOrientation`},
		"views":       {Options{Views: 257}, "Views must be at most 256, got 257"},
		"channels":    {Options{Channels: 2}, "Channels must be 1, 3 or 4, got 2"},
		"alpha near":  {Options{Channels: 4, Interpolation: Nearest}, "Channels 4 needs Interpolation bilinear or bicubic"},
		"alpha under": {Options{Channels: 4, Background: Color{Given: true}}, "Background needs Channels 3: samples of one channel are taken without alpha, and four channels keep it"},
		"alpha moved": {Options{Channels: 4, ColorJitter: Jitter{Hue: Range{0, 0.1}}}, "ColorJitter needs Channels 3"},
		"gray jitter": {Options{Channels: 1, ColorJitter: Jitter{Hue: Range{0, 0.1}}}, "ColorJitter needs Channels 3"},
		"uint16":      {Options{Channels: 4, DType: Uint16, Interpolation: Bicubic, Crop: CropLetterbox, Fill: [3]int{65535, 1, 2}}, ""},
		"jittered":    {Options{DType: Uint16, ColorJitter: Jitter{Hue: Range{0, 0.1}}}, "DType uint16 excludes ColorJitter and Augment, which change 8 bits; leave them out, or give uint8 or a float"},
		"fill beyond": {Options{DType: Uint16, Crop: CropLetterbox, Fill: [3]int{65536, 1, 2}}, "Fill must be from 0 to 65535, got [65536 1 2]"},
		"letterbox":   {Options{Crop: CropLetterbox, Fill: [3]int{114, 114, 114}}, ""},
		"fill":        {Options{Crop: CropLetterbox, Fill: [3]int{256, 0, 0}}, "Fill must be from 0 to 255, got [256 0 0]"},
		"fill alone":  {Options{Fill: [3]int{1, 1, 1}}, "Fill goes with Crop letterbox or scale_jitter; leave it out"},
		"two":         {Options{Flip: 2, Layout: "NCHW"}, "Layout must be CHW or HWC, got \"NCHW\"\nFlip must be 0 to 1, got 2"},
		"zero":        {Options{}, ""},
		"train":       {ImageNetTrain(), ""},
		"eval":        {ImageNetEval(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := c.o.Validate(); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
