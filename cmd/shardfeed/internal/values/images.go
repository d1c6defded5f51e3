package values

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/text"
)

// Images is a flag that gives columns of images a preset, settings, or both.
type Images map[string]images.Options

func (v *Images) Set(s string) error {
	name, text, found := strings.Cut(s, "=")
	if name = strings.TrimSpace(name); !found || name == "" || text == "" {
		return fmt.Errorf("must be a column with a preset or settings, as in img=imagenet_train or img=size=224,crop=center,resize=256, got %q", s)
	}
	o, err := imageOptions(text)
	if err != nil {
		return fmt.Errorf("must be settings that images can have, got %q: %w", s, err)
	}
	return setOnce((*map[string]images.Options)(v), name, o)
}

func (v *Images) String() string { return "" }

func (v *Images) Type() string { return "column=preset,setting=value,..." }

var imagePresets = map[string]func() images.Options{
	"imagenet_train": images.ImageNetTrain, "imagenet_eval": images.ImageNetEval, "auto": func() images.Options { return images.Options{Declared: true} },
}

// imageOptions reads a preset, settings after it, or a JSON object as Python's Image has it.
func imageOptions(given string) (o images.Options, err error) {
	if strings.HasPrefix(strings.TrimSpace(given), "{") {
		err = json.Unmarshal([]byte(given), &o)
		return o, err
	}
	object := map[string]any{}
	for i, item := range strings.Split(given, ",") {
		key, value, set := strings.Cut(strings.TrimSpace(item), "=")
		preset, known := imagePresets[key]
		switch {
		case set:
			err = setOption(imageSettings, object, strings.TrimSpace(key), strings.TrimSpace(value))
		case i == 0 && known:
			object, err = settingsOf(preset())
		default:
			err = fmt.Errorf("a preset must be %s, and come first, got %q", text.OneOf(slices.Sorted(maps.Keys(imagePresets))), key)
		}
		if err != nil {
			return o, err
		}
	}
	err = optionsOf(object, &o)
	return o, err
}

// settingsOf are options by the names of settings.
func settingsOf(o images.Options) (object map[string]any, err error) {
	text, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(text, &object)
	}
	return object, err
}

// optionsOf sets options of settings. The error spells them as settings.
func optionsOf(object map[string]any, o interface{ Validate() error }) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, o); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return fmt.Errorf("%s", option.Spelled(err, imageSetting))
	}
	return nil
}

// imageSetting is a field of images.Options as the flag spells it.
func imageSetting(field string) string {
	if color, ok := strings.CutPrefix(field, "ColorJitter."); ok {
		return strings.ToLower(color)
	}
	return option.Argument(field)
}

// A settingKind parses the values of a setting.
type settingKind struct {
	as      string // in errors
	parse   func(text string) (any, error)
	example string
}

var (
	settingColumn = settingKind{"a column", func(s string) (any, error) { return s, nil }, "img"}
	settingWord   = settingKind{"a word", func(s string) (any, error) { return s, nil }, "center"}
	settingNumber = settingKind{"a number", func(s string) (any, error) { return asNumber(s) }, "0.5"}
	settingWhole  = settingKind{"a whole number", func(s string) (any, error) { return asWhole(s) }, "256"}
	settingSwitch = settingKind{"true or false", func(s string) (any, error) { return strconv.ParseBool(s) }, "false"}
	settingRange  = settingKind{"two numbers with a colon", func(s string) (any, error) { return numbersOf(s, 2) }, "0.08:1"}
	settingColors = settingKind{"three numbers with colons", func(s string) (any, error) { return numbersOf(s, 3) }, "0.485:0.456:0.406"}
	settingColor  = settingKind{"one whole number, or three with colons", colorOf, "114 or 114:114:114"}
	settingSize   = settingKind{"one length, or height and width", sizeOf, "224 or 224x160"}
	settingNames  = settingKind{"columns with colons", func(s string) (any, error) { return strings.Split(s, ":"), nil }, "labels:areas"}
	settingFactor = settingKind{"one number, or two with a colon", func(s string) (any, error) { return factorsOf(s, 1) }, "0.4 or 0.6:1.4"}
	settingSteps  = settingKind{"steps with +, each a name with settings after /", stepsOf, "rand_augment/num_ops=2/magnitude=9+random_erasing/p=0.25"}
	settingKernel = settingKind{"one length, or width and height with a colon", kernelOf, "23 or 23:9"}
	settingTurn   = settingKind{"one number, or two with a colon", func(s string) (any, error) { return factorsOf(s, 0) }, "0.1 or -0.1:0.1"}
)

var imageSettings = map[string]settingKind{
	"size": settingSize, "crop": settingWord, "resize": settingWhole, "scale": settingRange, "ratio": settingRange, "flip": settingNumber,
	"brightness": settingFactor, "contrast": settingFactor, "saturation": settingFactor, "hue": settingTurn, "interpolation": settingWord,
	"mean": settingColors, "std": settingColors, "layout": settingWord, "dtype": settingWord, "exif": settingSwitch, "reducing_gap": settingNumber,
	"max_bytes": settingWhole, "max_pixels": settingWhole, "max_scans": settingWhole,
	"of": settingColumn, "views": settingWhole, "like": settingColumn, "channels": settingWhole, "fill": settingColor, "null": settingColor, "background": settingColor, "geometry": settingSwitch,
	"augment": settingSteps,
}

// setOption sets a member of the JSON object of options.
func setOption(settings map[string]settingKind, object map[string]any, key, text string) error {
	kind, ok := settings[key]
	if !ok {
		return fmt.Errorf("%q is unknown; there are %s", key, strings.Join(slices.Sorted(maps.Keys(settings)), ", "))
	}
	value, err := kind.parse(text)
	if err != nil {
		return fmt.Errorf("%s must be %s, as in %s, got %q", key, kind.as, kind.example, text)
	}
	switch key {
	case "brightness", "contrast", "saturation", "hue":
		jitter, _ := object["color_jitter"].(map[string]any)
		if jitter == nil {
			jitter = map[string]any{}
		}
		jitter[key] = value
		key, value = "color_jitter", jitter
	}
	object[key] = value
	return nil
}

func numbersOf(text string, n int) (numbers []float64, err error) {
	for part := range strings.SplitSeq(text, ":") {
		number, err := asNumber(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, number)
	}
	if len(numbers) != n {
		return nil, strconv.ErrSyntax
	}
	return numbers, nil
}

func colorOf(text string) (any, error) {
	if !strings.Contains(text, ":") {
		text += ":" + text + ":" + text
	}
	return numbersOf(text, 3)
}

func sizeOf(text string) (any, error) {
	height, width, two := strings.Cut(text, "x")
	if !two {
		width = height
	}
	h, err := asWhole(height)
	if err != nil {
		return nil, err
	}
	w, err := asWhole(width)
	return []int64{h, w}, err
}

// factorsOf are the range of a factor, or as torchvision has it how far it may be from the middle.
func factorsOf(text string, middle float64) (any, error) {
	if strings.Contains(text, ":") {
		return numbersOf(text, 2)
	}
	n, err := asNumber(text)
	least := middle - n
	if middle == 1 {
		least = max(0, least)
	}
	return []float64{least, middle + n}, err
}

// stepSettings has the numbers and colors among the settings of steps. The others are words.
var stepSettings = map[string]settingKind{
	"num_ops": settingWhole, "magnitude": settingWhole, "num_magnitude_bins": settingWhole, "fill": settingColor, "value": settingColor,
	"brightness": settingFactor, "contrast": settingFactor, "saturation": settingFactor, "hue": settingTurn, "p": settingNumber,
	"kernel_size": settingKernel, "sigma": settingRange, "scale": settingRange, "ratio": settingRange, "threshold": settingNumber,
}

// stepsOf are the steps of augment, as in rand_augment/num_ops=2+random_erasing/value=124:116:104.
func stepsOf(text string) (any, error) {
	var steps []map[string]any
	for part := range strings.SplitSeq(text, "+") {
		fields := strings.Split(part, "/")
		step := map[string]any{"step": strings.TrimSpace(fields[0])}
		for _, field := range fields[1:] {
			key, value, ok := strings.Cut(field, "=")
			if !ok {
				return nil, strconv.ErrSyntax
			}
			kind, ok := stepSettings[strings.TrimSpace(key)]
			if !ok {
				kind = settingWord
			}
			parsed, err := kind.parse(strings.TrimSpace(value))
			if err != nil {
				return nil, err
			}
			step[strings.TrimSpace(key)] = parsed
		}
		steps = append(steps, step)
	}
	return steps, nil
}

func kernelOf(text string) (any, error) {
	if !strings.Contains(text, ":") {
		text += ":" + text
	}
	return numbersOf(text, 2)
}
