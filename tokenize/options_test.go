package tokenize

import (
	"strings"
	"testing"
)

func TestOptions(t *testing.T) {
	if err := (Options{}).Validate(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
	err := Options{Specials: "keep", CacheBytes: 1}.Validate()
	for _, want := range []string{"Specials", `"keep"`, "CacheBytes", "65536"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want one with %s", err, want)
		}
	}
	if err := (Options{CacheBytes: -1}).Validate(); err == nil {
		t.Error("a negative cache has no error")
	}
}
