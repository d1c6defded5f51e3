package main

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/imagery"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// An imageVerifying checks the images of all columns that hold them.
type imageVerifying struct {
	on, quick bool
	columns   []string
	images    *loader.ImageCheck
}

func (v *imageVerifying) add(fs *pflag.FlagSet) {
	fs.BoolVar(&v.on, "images", false, "decode the images of all columns that hold them, and list rows whose image cannot be used")
	fs.BoolVar(&v.quick, "quick", false, "with --images: read the images' headers only")
}

func (v *imageVerifying) validate() error {
	if v.quick && !v.on {
		return usagef("--quick goes with --images")
	}
	return nil
}

// check is for shardfeed.Verify: nil without --images.
func (v *imageVerifying) check() func(ctx context.Context, m *rowgroup.Reader) (iterable.Check, error) {
	if !v.on {
		return nil
	}
	return func(ctx context.Context, m *rowgroup.Reader) (iterable.Check, error) {
		found, err := imagery.Sniff(ctx, m)
		if err != nil {
			return nil, err
		}
		fields := m.Schema().Fields
		v.columns = loader.FileColumns(fields, func(f *column.Field) bool { return found[f] })
		if len(v.columns) == 0 {
			return nil, errors.New("--images: no column holds images in the first rows: binary columns, members of structs or lists")
		}
		all := map[string]images.Options{}
		for _, name := range v.columns {
			all[name] = images.Options{}
		}
		decoder, err := newImageDecoders().of(shardfeed.Spec{Images: all})
		if err != nil {
			return nil, err
		}
		v.images, err = loader.NewImageCheck(m.Schema(), loader.Options{Images: all, ImageDecoder: decoder.make}, v.quick)
		if err != nil {
			return nil, err
		}
		return v.images.Rows, nil
	}
}

func (v *imageVerifying) close() {
	if v.images != nil {
		v.images.Close()
	}
}
