package engine

import (
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

// kinds are the names of rowgroup's kinds in the protocol.
var kinds = [...]string{
	column.Fixed: "fixed", column.Binary: "binary", column.List: "list", column.Struct: "struct", column.Map: "map", column.Null: "null",
}

// tensorType is the type of a List that holds tensors.
const tensorType = "tensor"

func describe(d *Data) wire.Opened {
	shards, groups := 0, 0
	for _, m := range d.Dataset.Manifests() {
		shards, groups = shards+len(m.Shards()), groups+len(m.Groups())
	}
	return wire.Opened{
		Rows: d.Dataset.NumSamples(), AllRows: d.Dataset.NumRows(), Samples: d.Dataset.Samples(), Buffer: bufferRows(d.Dataset), Shards: shards, Groups: groups, Schema: d.nodes(nil),
		Manifest: d.Dataset.Content(), Versions: d.Dataset.Versions(), Now: d.Dataset.Now(), Images: d.images(), Warnings: wire.RedactAll(d.Warnings, wire.Redact), Files: wire.RedactAll(d.Files, wire.Redact), Info: wire.RedactAll(d.Info, wire.Redact),
	}
}

// bufferRows returns the shuffle buffer in rows, if it is given in bytes over all ranks, else 0.
func bufferRows(d *iterable.Dataset) int64 {
	size := d.ShuffleBuffer()
	if size.Rows > 0 || size.Bytes == 0 || size.Per != "" {
		return 0
	}
	return d.BufferRows(size)
}

// batchNodes returns the schema of a loader's batches: the data's, with padded columns dense and
// added columns at the end.
func batchNodes(s *column.Schema, o loader.Options) []wire.Node {
	var tasks []*column.Field
	if shape, err := o.Shape(s); err == nil { // else Check has refused it
		s, tasks = shape.Schema(), shape.TaskFields()
	}
	nodes := make([]wire.Node, 0, len(s.Fields)+len(o.Pad))
	fields, made := o.Packed.Fields(s)
	fields = slices.DeleteFunc(slices.Clone(fields), func(f *column.Field) bool { return f.Made && f.Name == "" })
	for _, f := range fields {
		nodes = append(nodes, nodeOf(f))
	}
	for _, p := range o.Pad {
		for i, f := range fields {
			if f.Name != p.Column {
				continue
			}
			sizes := p.Levels(f)
			for at, level := &nodes[i], 0; level < len(sizes); at, level = &at.Children[0], level+1 {
				at.ListSize = sizes[level]
			}
			nodes = append(nodes, added(p, sizes)...)
			break
		}
	}
	if o.Seeds {
		nodes = append(nodes, fixedNode(loader.SeedColumn, column.TypeInt64, 8))
	}
	for _, f := range slices.Concat(o.GeometryFields(), tasks, made) {
		n := nodeOf(f)
		n.Added = true
		nodes = append(nodes, n)
	}
	return nodes
}

// nodes returns the schema of batches with a share of the images that the engine decodes, or nil.
func (d *Data) nodes(share *float64) []wire.Node {
	o := d.Loader
	o.ImageSplit = newSplit(share)
	return batchNodes(d.Dataset.BatchSchema(), o)
}

// images returns for each column of images why a device cannot decode its JPEGs.
func (d *Data) images() map[string]string {
	shape, err := d.Loader.Shape(d.Dataset.BatchSchema())
	if err != nil { // Check refuses it
		return nil
	}
	return shape.DeviceImages()
}

// fixedNode is a column that no data has.
func fixedNode(name string, t column.Type, width int) wire.Node {
	return wire.Node{Name: name, Kind: kinds[column.Fixed], Type: t.String(), Width: width, Added: true, Children: []wire.Node{}}
}

// added are the columns that a padding adds: lengths of each level of lists, and a mask.
func added(p loader.Padding, sizes []int) (nodes []wire.Node) {
	for level := range sizes {
		nodes = append(nodes, inLists(fixedNode(p.LengthsName(level), column.TypeInt32, 4), sizes[:level]))
	}
	if p.Mask != "" {
		nodes = append(nodes, inLists(fixedNode(p.Mask, column.TypeBool, 1), sizes))
	}
	return nodes
}

// inLists is a node within lists of these sizes.
func inLists(n wire.Node, sizes []int) wire.Node {
	for _, size := range slices.Backward(sizes) {
		n = wire.Node{Name: n.Name, Kind: kinds[column.List], Type: kinds[column.List], ListSize: size, Added: true, Children: []wire.Node{n}}
	}
	return n
}

func nodeOf(f *column.Field) wire.Node {
	n := wire.Node{
		Name: f.Name, Kind: kinds[f.Kind], Type: f.Type.String(), Width: f.Width, Nullable: f.Nullable, UTC: f.UTC,
		Precision: f.Precision, Scale: f.Scale, ListSize: f.ListSize, Partition: f.Partition, Added: f.Made, Joined: f.Joined, Features: f.Features, Labels: f.Labels, Children: []wire.Node{},
	}
	if f.Kind == column.List || f.Kind == column.Struct || f.Kind == column.Map {
		n.Type = n.Kind
	}
	if f.Tensor != nil {
		n.Type = tensorType
	}
	if f.Tensor != nil && f.Tensor.Flat != nil {
		n.Extension = "arrow.fixed_shape_tensor"
	}
	if f.Type == column.TypeTime || f.Type == column.TypeTimestamp {
		n.Unit = f.Unit.String()
	}
	for _, c := range f.Children {
		n.Children = append(n.Children, nodeOf(c))
	}
	return n
}
