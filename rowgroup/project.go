package rowgroup

import (
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed/column"
)

// projected is one node of the projected schema: field is the result, the rest is the way to find
// it in each file.
type projected struct {
	field    *column.Field
	key      memberKey
	children []*projected
}

// A projector selects columns of the united schema.
type projector struct {
	missingIsNull bool
	shards        []string            // by schema: the first shard that has it, for messages
	counts        []int               // by schema: shards that have it
	chosen        map[*unionNode]bool // with all that is below
	touched       map[*unionNode]bool // something below is chosen
}

// project prunes the united schema to what the paths name; nil names all. The order is the
// schema's. shards and counts are the first shard of each schema and how many have it.
func project(root *unionNode, paths []string, missingIsNull bool, shards []string, counts []int) ([]*projected, error) {
	p := projector{missingIsNull: missingIsNull, shards: shards, counts: counts}
	if paths != nil {
		p.chosen, p.touched = map[*unionNode]bool{}, map[*unionNode]bool{}
		if err := p.choose(root, paths); err != nil {
			return nil, err
		}
	}
	var all []*projected
	for _, u := range root.children {
		c, err := p.prune(u, "", paths == nil)
		if err != nil {
			return nil, err
		}
		if c != nil {
			all = append(all, c)
		}
	}
	return all, nil
}

// choose marks the nodes that the paths name. A column's exact name wins over a path; a path in a
// file wins over its short form, which leaves out the groups that lists and maps are made of.
func (p *projector) choose(root *unionNode, paths []string) error {
	names := indexNames(root)
	var missing unknownColumns
	for _, path := range paths {
		nodes := names.find(path)
		if nodes == nil {
			missing = append(missing, fmt.Sprintf("%q%s", path, names.near(path)))
		}
		for _, u := range nodes {
			p.mark(u)
		}
	}
	if missing != nil {
		return &Error{Op: "schema", URI: p.shards[0], RowGroup: -1, Page: -1, Err: missing}
	}
	return nil
}

// unknownColumns are the names that no column has, each with the names most like it.
type unknownColumns []string

func (u unknownColumns) Error() string {
	return "there is no column " + strings.Join(u, "; there is no column ")
}

func (u unknownColumns) Is(target error) bool { return target == ErrMissingColumn }

// mark chooses a node and leads the way to it. A map without its keys is none, so they come with
// whatever is chosen of its values.
func (p *projector) mark(u *unionNode) {
	p.chosen[u] = true
	for a := u.parent; a != nil; a, u = a.parent, a {
		p.touched[a] = true
		if a.parent != nil && a.parent.field.Kind == column.Map {
			if key := a.children[0]; u != key {
				p.chosen[key] = true
			} else {
				p.chosen[a] = true
			}
		}
	}
}

// prune returns the node with what is chosen of it, nil when that is nothing. whole says that a
// node above is chosen.
func (p *projector) prune(u *unionNode, parent string, whole bool) (*projected, error) {
	whole = whole || p.chosen[u]
	if !whole && !p.touched[u] {
		return nil, nil
	}
	path := joinPath(parent, u.key.name)
	f := u.field
	c := &projected{field: &f, key: u.key}
	if err := p.check(c, u, path); err != nil {
		return nil, err
	}
	for _, v := range u.children {
		d, err := p.prune(v, path, whole)
		if err != nil {
			return nil, err
		}
		if d != nil {
			c.children = append(c.children, d)
			f.Children = append(f.Children, d.field)
		}
	}
	return c, nil
}

// check refuses what no common type holds, and what some shards lack unless the user takes nulls
// for it.
func (p *projector) check(c *projected, u *unionNode, path string) error {
	if u.conflict {
		most, odd := u.odd(p.counts)
		return &Error{
			Op: "schema", URI: p.shards[odd.schemas[0]], RowGroup: -1, Column: path, Page: -1,
			Err:  fmt.Errorf("its type is %s here and %s in %s", odd.field, most.field, p.shards[most.schemas[0]]),
			Hint: "no type holds both without loss; leave the column out, or rewrite the shards with one type",
		}
	}
	if u.lacks < 0 {
		return nil
	}
	if p.missingIsNull {
		c.field.Nullable = true
		return nil
	}
	return &Error{
		Op: "schema", URI: p.shards[u.lacks], RowGroup: -1, Column: path, Page: -1,
		Err:  fmt.Errorf("%w here; %s has it", ErrMissingColumn, p.shards[u.first]),
		Hint: "leave the column out, or have it read as null where it is missing",
	}
}
