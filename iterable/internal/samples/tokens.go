package samples

import (
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/rule"
)

// Texts reports whether documents are counted by making tokens of their texts. A load makes them
// too, so it does not count.
func (k *Packing) Texts() bool { return k.texts != nil }

// TextColumn is the column of the schema of rows whose lists of tokens are measured, if Texts.
func (k *Packing) TextColumn() int {
	return slices.IndexFunc(k.schema.Fields, func(f *column.Field) bool { return k.transforms.Encoders(f.Name) == k.texts })
}

// TextTokens returns the tokens of all samples; 0 if the texts are unknown. Their number is exact
// unless the packing cuts long documents.
func (k *Packing) TextTokens(t *Texts) (tokens int64, exact bool) {
	if t == nil {
		return 0, false
	}
	return t.Tokens + t.Documents*int64(k.extra()), k.Bucket != nil || k.Spec.PackStrategy() != rule.BestFit
}

// MakesAll reports whether a load makes the tokens of all columns, and so may leave out rows that
// are in no sample.
func (k *Packing) MakesAll() bool {
	for i, f := range k.schema.Fields {
		if k.Layout.Columns[i].Tokens && k.transforms.Encoders(f.Name) == nil {
			return false
		}
	}
	return true
}

// rowScratch is the memory of a row while it is counted.
func (k *Packing) rowScratch() int64 {
	if k.texts == nil {
		return lengthScratch
	}
	return lengthScratch + textScratch
}

// encoderScratch is the memory of a goroutine that counts tokens.
func (k *Packing) encoderScratch() int64 {
	if k.texts == nil {
		return 0
	}
	_, each := k.transforms.Memory()
	return each
}

// textTables is the memory that all goroutines share.
func (k *Packing) textTables() int64 {
	if k == nil || k.texts == nil {
		return 0
	}
	shared, _ := k.transforms.Memory()
	return shared
}

// HasTokens reports whether a column has lists whose items are tokens.
func HasTokens(f *column.Field) bool {
	return f.Kind == column.List && f.Children[0].Kind == column.Fixed
}

// CheckTokens returns an error if the column that option Tokens names has no tokens.
func CheckTokens(name string, fields []*column.Field) error {
	for _, f := range fields {
		if f.Name == name && !HasTokens(f) {
			return option.NewError("Tokens", option.Literal(fmt.Sprintf("must be a column of lists of fixed-width values, got %v", f))+TokenizeFirst(f))
		}
	}
	return nil
}
