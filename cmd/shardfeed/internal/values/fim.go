package values

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed"
)

// FIMExample is an example of the value of FIM.
const FIMExample = "prefix=5,middle=6,suffix=7"

// FIM is a flag that gives fill-in-the-middle to a packing.
type FIM struct{ Pack **shardfeed.FillInTheMiddle }

func (v *FIM) Set(s string) error {
	wrong := func(setting, problem string) error {
		return fmt.Errorf("must be prefix, middle and suffix, each once, and maybe rate, spm_rate and boundaries, as in %s,rate=0.5,boundary=8: %s %s, got %q", FIMExample, setting, problem, s)
	}
	f := &shardfeed.FillInTheMiddle{Rate: 0.5, SPMRate: 0.5}
	missing := map[string]*shardfeed.Token{"prefix": &f.Prefix, "middle": &f.Middle, "suffix": &f.Suffix}
	rates := map[string]*float64{"rate": &f.Rate, "spm_rate": &f.SPMRate}
	for setting := range strings.SplitSeq(s, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(setting), "=")
		of, rate := missing[key], rates[key]
		switch {
		case value == "":
			return wrong(strconv.Quote(key), "has no value")
		case of != nil:
			*of = token(value)
			delete(missing, key)
		case rate != nil:
			var err error
			if *rate, err = strconv.ParseFloat(value, 64); err != nil {
				return wrong(key, "is not a number")
			}
			delete(rates, key)
		case key == "boundary":
			f.Boundaries = append(f.Boundaries, token(value))
		default:
			return wrong(strconv.Quote(key), "is unknown or given twice")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		return wrong(key, "is missing")
	}
	*v.Pack = f
	return nil
}

// token returns a token by its number or its text.
func token(s string) shardfeed.Token {
	if id, err := strconv.ParseInt(s, 10, 64); err == nil {
		return shardfeed.Token{ID: id}
	}
	return shardfeed.Token{Text: s}
}

func (v *FIM) String() string { return "" }

func (v *FIM) Type() string { return "tokens" }
