package values

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed/images/boxes"
)

// Boxes is a flag that moves columns of boxes with images, by settings.
type Boxes map[string]boxes.Options

var boxSettings = map[string]settingKind{
	"of": settingColumn, "format": settingWord, "clip": settingSwitch, "min_size": settingNumber, "drop": settingSwitch, "drop_with": settingNames,
}

func (v *Boxes) Set(s string) error {
	name, text, found := strings.Cut(s, "=")
	if name = strings.TrimSpace(name); !found || name == "" || text == "" {
		return fmt.Errorf("must be a column with settings, as in boxes=of=img,format=xywh,drop_with=labels, got %q", s)
	}
	o, err := boxOptions(text)
	if err != nil {
		return fmt.Errorf("must be settings that boxes can have, got %q: %w", s, err)
	}
	return setOnce((*map[string]boxes.Options)(v), name, o)
}

func (v *Boxes) String() string { return "" }

func (v *Boxes) Type() string { return "column=setting=value,..." }

// boxOptions reads settings, or a JSON object as Python's Boxes has it.
func boxOptions(given string) (o boxes.Options, err error) {
	if strings.HasPrefix(strings.TrimSpace(given), "{") {
		err = json.Unmarshal([]byte(given), &o)
		return o, err
	}
	object := map[string]any{}
	for item := range strings.SplitSeq(given, ",") {
		key, value, _ := strings.Cut(item, "=")
		if err := setOption(boxSettings, object, strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return o, err
		}
	}
	err = optionsOf(object, &o)
	return o, err
}
