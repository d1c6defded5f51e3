// Package values parses the flags of the command that describe columns and tokens: types, weights,
// sizes, images, tokenizers. Each type is a pflag.Value over a field of shardfeed.Spec.
package values
