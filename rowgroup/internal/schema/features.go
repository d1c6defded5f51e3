package schema

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

// A feature is a declaration of Hugging Face's library beyond a column's Arrow type.
type feature struct {
	shape  []int    // of Array2D to Array5D; 0 is a dimension of any length
	labels []string // of ClassLabel, by value
	media  string   // "Image" or "Audio": a file, in a struct of its bytes and its path
}

// maxLabels bounds the labels of a column; more are left out.
const maxLabels = 1 << 16

// parseFeatures reads the features that Hugging Face's library keeps with a table, by the names of
// Fields joined with dots. The file of an image or of audio is under the name of its bytes.
func parseFeatures(text string) map[string]feature {
	var table struct {
		Info struct{ Features json.RawMessage }
	}
	all := map[string]feature{}
	if text != "" && json.Unmarshal([]byte(text), &table) == nil {
		addFeature(all, "", table.Info.Features, 0)
	}
	return all
}

// addFeature adds the features of a column, which is an object of a type, a struct's members by
// name, or a list of the items' feature.
func addFeature(all map[string]feature, path string, text json.RawMessage, depth int) {
	var items []json.RawMessage
	if json.Unmarshal(text, &items) == nil && len(items) == 1 && depth < parquet.MaxSchemaDepth {
		addFeature(all, joinPath(path, "element"), items[0], depth+1)
		return
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil || depth == parquet.MaxSchemaDepth {
		return
	}
	var kind string
	if json.Unmarshal(members["_type"], &kind) != nil {
		for name, member := range members {
			addFeature(all, joinPath(path, name), member, depth+1)
		}
		return
	}
	switch {
	case kind == "ClassLabel":
		var labels []string
		if json.Unmarshal(members["names"], &labels) == nil && len(labels) > 0 && len(labels) <= maxLabels {
			all[path] = feature{labels: labels}
		}
	case kind == "Image" || kind == "Audio":
		all[joinPath(path, "bytes")] = feature{media: kind}
	case strings.HasPrefix(kind, "Array"):
		if shape := parseShape(members["shape"]); shape != nil {
			all[path] = feature{shape: shape}
		}
	case members["feature"] != nil:
		addFeature(all, joinPath(path, "element"), members["feature"], depth+1)
	}
}

// Labels and media follow the lists in the bytes of declarations. For each column, sorted by path,
// there are
//
//	uvarint  length of the path, and the path
//	uvarint  0, where a list has its length
//	uvarint  number of labels; 0: it is a file
//	uvarint  length of each label, and the label; or the length of the medium, and its name

func appendFeatures(b []byte, all map[string]feature) []byte {
	for _, p := range slices.Sorted(maps.Keys(all)) {
		f := all[p]
		if f.labels == nil && f.media == "" {
			continue
		}
		b = binary.AppendUvarint(appendText(b, p), 0)
		b = binary.AppendUvarint(b, uint64(len(f.labels)))
		for _, label := range f.labels {
			b = appendText(b, label)
		}
		if f.labels == nil {
			b = appendText(b, f.media)
		}
	}
	return b
}

func (r *declarationReader) feature() (f feature) {
	n := r.number(maxLabels)
	if n == 0 {
		f.media = r.text()
	}
	for range n {
		if r.bad {
			break
		}
		f.labels = append(f.labels, r.text())
	}
	return f
}

// declare notes the feature of a field that can have it.
func (f feature) declare(field *column.Field) {
	switch {
	case f.media != "" && field.Kind == column.Binary:
		field.Encoding = &column.Encoding{Codec: f.media}
	case f.labels != nil && intDigits[field.Type] > 0:
		field.Labels = f.labels
	}
}
