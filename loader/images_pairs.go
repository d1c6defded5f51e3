package loader

import (
	"fmt"
	"image"
	"slices"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/codec"
)

// followed returns the options of a column, with the geometry of the column whose draw it shares.
func followed(all map[string]images.Options, name string) (images.Options, error) {
	o := all[name]
	if o.Like == "" {
		return o, nil
	}
	lead, ok := all[o.Like]
	if !ok {
		return o, fmt.Errorf("it is like %q, which is not among the images; name the column that draws", o.Like)
	}
	if err := lead.CanLead(); err != nil {
		return o, fmt.Errorf("it is like %q: %w", o.Like, err)
	}
	return o.Follow(lead), nil
}

// checkLeads refuses to share the draws of lists.
func (b *binder) checkLeads() {
	lists := map[string]bool{}
	for _, all := range b.images {
		for _, m := range all {
			lists[m.name] = m.list != nil
		}
	}
	for _, all := range b.images {
		for _, m := range all {
			if lists[m.like] {
				b.problems.Add(fmt.Sprintf("Images[%q]", m.name), "does not apply: it is like %q, a column of lists, and {Like} pairs columns with one image a row", m.like)
			}
		}
	}
}

// orderImages sorts columns with a draw first, with the other columns of their files behind them,
// and links columns that share a draw.
func orderImages(all []*imageColumn) {
	shareImages(all)
	var ordered, followers []*imageColumn
	for _, m := range all {
		switch {
		case m.leads():
			ordered = append(ordered, m.share.columns...)
		case m.share != nil:
		case m.like == "":
			ordered = append(ordered, m)
		default:
			followers = append(followers, m)
		}
	}
	copy(all, append(ordered, followers...))
	for i, m := range all {
		m.place = i
		m.lead = slices.IndexFunc(all, func(other *imageColumn) bool { return m.like != "" && other.name == m.like })
	}
}

// sized notes the size of a row's picture, and refuses one that differs from the picture whose draw
// it shares. The size of a null picture is 0 x 0, which all share.
func (j *imageJob) sized(k, row int, size image.Point) error {
	j.sizes[k][row] = size
	m := j.columns[k]
	if m.lead < 0 {
		return nil
	}
	if lead := j.sizes[m.lead][row]; lead != (image.Point{}) && size != lead {
		return &codec.Error{Text: fmt.Sprintf("the picture is %d x %d, and column %q, whose crop it shares, has one of %d x %d", size.X, size.Y, m.like, lead.X, lead.Y)}
	}
	return nil
}
