package iterable

import (
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable/internal/panics"
)

// An OptionError names the option that cannot be used, and the reason. Every error of a Validate
// method joins one for each problem.
type OptionError = option.Error

// PanicError is a panic in a goroutine of a stream or a loader.
type PanicError = panics.Error
