package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/imagery"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/montage"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/values"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

// montageFlags ask for a page of the images of rows.
type montageFlags struct {
	file  string
	shown values.Images // how to show images
	boxes values.Boxes  // what to draw into them
	notes []string      // columns below them

	page *montage.Page
}

func (f *montageFlags) montageOf(c *cobra.Command, l *look) {
	fs := c.Flags()
	fs.StringVar(&f.file, "montage", "", "draw the rows' images into this PNG `file`, and add --row-ids")
	fs.Var(&f.shown, "images", imagesUsage+" (default: the center of each column of images)")
	fs.Var(&f.boxes, "boxes", "draw a column of boxes or points into its images, as in boxes=of=img,format=xywh; repeated for others")
	fs.StringSliceVar(&f.notes, "captions", nil, "`columns` whose values are below the images (default: those with names of classes)")
	fs.IntVar(&l.epochs, "epochs", 1, "how often each row is in the montage: as training with seed 0 has it in the first so many epochs")
	_ = c.MarkFlagFilename("montage", "png")
}

// imagesUsage explains the flag --images.
const imagesUsage = "what becomes of the images of a column: imagenet_train, imagenet_eval or settings, as in img=size=224,crop=random_resized,flip=0.5, or auto, as petastorm's schema declares it (*=auto for all columns); repeated for others"

func (f *montageFlags) saveFile() saveFile {
	return saveFile{flag: "montage", name: f.file, kind: saveKind{noun: "montage", prefix: montage.Signature, is: func(path string, _ int64) bool { return montage.Is(path) }}}
}

// checkMontage checks the flags before anything is read.
func (f *montageFlags) checkMontage(fs *pflag.FlagSet, l *look) error {
	if f.file == "" {
		for _, name := range [...]string{"images", "boxes", "captions", "epochs"} {
			if fs.Changed(name) {
				return usagef("--%s has no effect without --montage FILE.png: add it", name)
			}
		}
		if fs.Changed("montage") {
			return usagef("--montage must name a PNG file, got an empty name")
		}
		return nil
	}
	l.RowIDs = true
	return f.saveFile().check()
}

// openMontage starts the page of rows of an open data set.
func (f *montageFlags) openMontage(ctx context.Context, parts []lookPart, shape *loader.Shape, l *look) (err error) {
	all := map[string]images.Options(f.shown)
	if len(all) == 0 {
		if all, err = centers(ctx, parts, shape); err != nil {
			return err
		}
	}
	if _, err := (loader.Options{Images: all, Boxes: f.boxes}).Shape(shape.Schema()); err != nil {
		return usagef("%s", option.Spelled(err, option.Flag))
	}
	decoder, err := newImageDecoders().of(shardfeed.Spec{Images: all})
	if err != nil {
		return err
	}
	if f.page, err = montage.New(all, l.epochs, decoder.make); err != nil {
		return err
	}
	if err := f.page.Show(f.boxes, f.notes, shape.Schema()); err != nil {
		return usagef("--captions %v", err)
	}
	var rows int64
	for _, part := range parts {
		rows += min(l.count, part.data.NumSamples())
	}
	if err := f.page.CheckSize(rows); err != nil {
		return usagef("--montage %v", err)
	}
	return nil
}

// centers returns the image columns with the options of evaluation. It leaves out images in lists,
// which training does not decode.
func centers(ctx context.Context, parts []lookPart, shape *loader.Shape) (map[string]images.Options, error) {
	var data []*iterable.Dataset
	for _, part := range parts {
		data = append(data, part.data)
	}
	found, err := imagery.Find(ctx, data, shape)
	if err != nil {
		return nil, err
	}
	all := map[string]images.Options{}
	var walk func(fields []*column.Field, path string)
	walk = func(fields []*column.Field, path string) {
		for _, f := range fields {
			if found[f] {
				all[path+f.Name] = images.Options{Crop: images.CropCenter}
			} else if f.Kind == column.Struct {
				walk(f.Children, path+f.Name+".")
			}
		}
	}
	walk(shape.Schema().Fields, "")
	if len(all) == 0 {
		return nil, fmt.Errorf("--montage finds no image: no binary column has one in the first %d rows; --images names one", imagery.SniffedRows)
	}
	return all, nil
}

// saveMontage writes the page, and notes missing images.
func (f *montageFlags) saveMontage(ctx context.Context, a *app) error {
	if failed := f.page.Failed(); len(failed) > 0 {
		some := failed[:min(3, len(failed))]
		a.note("%d of %s in the montage cannot be shown: %s", len(failed), text.Plural(int64(f.page.Images()), "image"), strings.Join(some, "; "))
	}
	if f.page.Rows() == 0 {
		a.note("the montage is not written: there are no rows")
		return nil
	}
	content, err := f.page.PNG()
	if err != nil {
		return err
	}
	return f.saveFile().write(ctx, content)
}
