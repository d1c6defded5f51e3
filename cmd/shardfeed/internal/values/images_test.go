package values

import (
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/augment"
)

func TestImagesFlag(t *testing.T) {
	small := images.ImageNetTrain()
	small.Height, small.Width, small.Flip = 160, 120, 0
	for _, c := range []struct {
		name, value string
		want        images.Options
		err         string // a part of it
	}{
		{"a preset", "img=imagenet_eval", images.ImageNetEval(), ""},
		{"a preset with changes", "img=imagenet_train,size=160x120,flip=0", small, ""},
		{"settings", "img=size=64,crop=random_resized,scale=0.5:1,exif=false", images.Options{Height: 64, Width: 64, Crop: images.CropRandomResized, Scale: images.Range{0.5, 1}, IgnoreOrientation: true}, ""},
		{"fills", "img=crop=letterbox,fill=114,null=1:2:3", images.Options{Crop: images.CropLetterbox, Fill: [3]int{114, 114, 114}, Null: images.Color{Given: true, Channels: [3]int{1, 2, 3}}}, ""},
		{"colors", "img=brightness=0.25,contrast=2,saturation=0.5:1.5,hue=0.125", images.Options{ColorJitter: images.Jitter{
			Brightness: images.Range{0.75, 1.25}, Contrast: images.Range{0, 3}, Saturation: images.Range{0.5, 1.5}, Hue: images.Range{-0.125, 0.125},
		}}, ""},
		{"normalised", "img=dtype=float16,mean=0.5:0.5:0.5,std=0.25:0.25:0.25", images.Options{DType: images.Float16, Mean: [3]float32{0.5, 0.5, 0.5}, Std: [3]float32{0.25, 0.25, 0.25}}, ""},
		{"steps", "img=size=64,augment=rand_augment/num_ops=3/fill=9/interpolation=bilinear+gaussian_blur/kernel_size=5/sigma=0.5:2+color_jitter/hue=0.125/p=0.5+random_erasing/value=1:2:3", images.Options{Height: 64, Width: 64, Augment: augment.Steps{
			augment.RandAugment{NumOps: 3, Fill: [3]int{9, 9, 9}, Interpolation: augment.Bilinear},
			augment.GaussianBlur{KernelSize: [2]int{5, 5}, Sigma: augment.Range{0.5, 2}},
			augment.ColorJitter{Hue: augment.Range{-0.125, 0.125}, P: 0.5},
			augment.RandomErasing{Value: [3]int{1, 2, 3}},
		}}, ""},
		{"an unknown step", "img=augment=blur", images.Options{}, `augment[0]: there is no step "blur"; there are rand_augment,`},
		{"an unknown setting of a step", "img=augment=rand_augment/ops=2", images.Options{}, `unknown field "ops"`},
		{"a step's wrong value", "img=augment=rand_augment/num_ops=two", images.Options{}, "augment must be steps with +, each a name with settings after /, as in rand_augment/num_ops=2/"},
		{"a step out of range", "img=augment=rand_augment/num_ops=99", images.Options{}, "augment[0] rand_augment: num_ops must be from 1 to 16, got 99"},
		{"JSON", `img={"size": [32], "layout": "HWC"}`, images.Options{Height: 32, Layout: images.HWC}, ""},
		{"no column", "imagenet_train", images.Options{}, "must be a column with a preset or settings, as in img=imagenet_train or img=size=224,crop=center,resize=256"},
		{"an unknown preset", "img=imagenet", images.Options{}, `a preset must be auto, imagenet_eval or imagenet_train, and come first, got "imagenet"`},
		{"a preset at the end", "img=flip=1,imagenet_train", images.Options{}, "and come first"},
		{"an unknown setting", "img=sise=3", images.Options{}, `"sise" is unknown; there are augment, background, brightness, channels, contrast, crop,`},
		{"not a number", "img=size=big", images.Options{}, `size must be one length, or height and width, as in 224 or 224x160, got "big"`},
		{"one bound", "img=crop=random_resized,scale=1", images.Options{}, `scale must be two numbers with a colon, as in 0.08:1, got "1"`},
		{"what does not fit", "img=resize=256,size=-1", images.Options{}, "size must not be negative, got -1; resize goes with crop center"},
		{"a color", "img=hue=0.7", images.Options{}, "hue must be two numbers from -0.5 to 0.5"},
		{"unknown JSON", `img={"sise": 3}`, images.Options{}, `unknown field "sise"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var v Images
			err := v.Set(c.value)
			switch {
			case c.err == "" && (err != nil || v["img"] != c.want):
				t.Errorf("got %+v, %v, want %+v", v["img"], err, c.want)
			case c.err != "" && (err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "\n", "; "), c.err)):
				t.Errorf("got %v, want %s", err, c.err)
			}
		})
	}
	var v Images
	if err := v.Set("img=imagenet_eval"); err != nil {
		t.Fatal(err)
	}
	if err := v.Set("img=imagenet_train"); err == nil || !strings.Contains(err.Error(), `got "img" again`) {
		t.Errorf("a column twice: %v", err)
	}
}
