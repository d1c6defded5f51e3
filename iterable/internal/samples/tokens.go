package samples

import (
	"slices"

	"github.com/shardfeed/shardfeed/column"
)

// Texts reports whether documents are counted by making tokens of their texts. A load makes them
// too, so it does not count.
func (k *Packing) Texts() bool { return k.texts != nil }

// TextColumn is the column of the schema of rows whose lists of tokens are measured, if Texts.
func (k *Packing) TextColumn() int {
	return slices.IndexFunc(k.schema.Fields, func(f *column.Field) bool { return k.transforms.Encoders(f.Name) == k.texts })
}

// MakesAll reports whether a load makes the tokens of all columns, and so may leave out rows that are
// in no sample.
func (k *Packing) MakesAll() bool {
	for i, f := range k.schema.Fields {
		if k.Layout.Columns[i].Tokens && k.transforms.Encoders(f.Name) == nil {
			return false
		}
	}
	return true
}

// textScratch is the memory of a goroutine that counts tokens.
func (k *Packing) textScratch() int64 {
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
