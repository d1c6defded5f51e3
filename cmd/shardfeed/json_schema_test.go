package main

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/counting"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/tokens"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/watch"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/wait"
)

// jsonOutputs are what the verbs print with --json, by the name of their schema.
var jsonOutputs = []struct {
	name  string
	value any
	runs  []string // command lines whose output is held against the schema
}{
	{"audit", proof{}, nil},
	{"bench", measurement{}, []string{"bench $SHOP --limit 500 --json"}},
	{"cache-clear", cache.Freed{}, []string{"cache clear --json --cache-dir $DIR"}},
	{"cache-du", cache.Space{}, []string{"cache du --json --cache-dir $DIR"}},
	{"cache-gc", cache.Freed{}, []string{"cache gc --json --cache-dir $DIR"}},
	{"cache-ls", struct {
		Entries []cache.Entry `json:"entries"`
		Path    string        `json:"path"` // of the cache's directory
	}{}, []string{"cache ls --json --cache-dir $DIR"}},
	{"cache-path", struct {
		Path string `json:"path"` // of the cache's directory
	}{}, []string{"cache path --json --cache-dir $DIR"}},
	{"cache-verify", cache.Report{}, []string{"cache verify --json --cache-dir $DIR"}},
	{"count", counting.Rows{}, []string{"count $SHOP --json", "count $SHOP --subsample 0.5 --json", "count $SHOP --tokenize title=testdata/tokenizer.json --json"}},
	{"demo", demoResult{}, nil},
	{"doctor", diagnosis{}, []string{"doctor $SHOP --json --cache-dir $DIR"}},
	{"gpu", survey{}, []string{"gpu --json --measure 0s"}},
	{"inspect", inspection{}, []string{"inspect $SHOP --json", "inspect ../../internal/inspect/testdata/empty.parquet --json"}},
	{"plan", plan{}, []string{"plan $SHOP --json", "plan $SHOP --shuffle --world-size 2 --subsample 0.5 --json", "plan $SHOP --shuffle --world-size 2 --nodes 2 --json", "plan $SHOP --columns title --tokenize title=testdata/tokenizer.json --pack title=64 --json"}},
	{"schema", schemaOutput{}, []string{"schema $SHOP --json"}},
	{"select", selection{}, []string{"select $SHOP --subsample 0.5 --save $DIR/half.rows --json"}},
	{"stats", pythonStats{}, nil},
	{"tokenize", tokens.Report{}, []string{"tokenize testdata/tokenizer.json --json", "tokenize testdata/tokenizer.json $SHOP --column label --json", "tokenize testdata/tokenizer.json $SHOP --join title,label --labels label --json"}},
	{"top", watch.View{}, []string{"top --json --every 100ms --socket $DIR/none.sock"}},
	{"verify", verification{}, []string{"verify $SHOP --json"}},
	{"vocab", vocabulary{}, []string{"vocab $SHOP --column label --json", "vocab $SHOP --column label --min-count 100 --json"}},
	{"warm", warmth{}, nil},
}

// pythonStats is what stats() of the Python package returns, whose types its test makes of this.
type pythonStats struct {
	measurement
	WaitOf *wait.Report  `json:"wait"`            // null under torch's own workers, for which the training waits
	Audit  *wire.Audited `json:"audit,omitempty"` // of the last epoch
	Seats  *struct {
		Nodes int `json:"nodes"`
		Lanes int `json:"lanes"`
		Held  int `json:"held"` // lanes in caches of the nodes
		Read  int `json:"read"` // lanes read by a node that holds them
	} `json:"seats,omitempty"` // null: lanes have no seats
	ImageDevice *struct {
		Device   string            `json:"device"`   // that decodes JPEGs; empty: the processors decode all images
		Why      string            `json:"why"`      // the processors decode all images
		NVJPEG   string            `json:"nvjpeg"`   // its version
		NVRTC    string            `json:"nvrtc"`    // its version
		Hardware bool              `json:"hardware"` // the device has hardware for JPEG
		Columns  map[string]string `json:"columns"`  // of images: why the processors decode all of a column, or ""
	} `json:"image_device,omitempty"` // of a DataLoader; null with image_device="cpu"
}

// A jsonSchema is a JSON Schema (draft 2020-12) of a Go value's JSON.
type jsonSchema struct {
	Schema      string      `json:"$schema,omitempty"`
	Title       string      `json:"title,omitempty"`
	Description string      `json:"description,omitempty"`
	Type        any         `json:"type,omitempty"`
	Format      string      `json:"format,omitempty"`
	Properties  properties  `json:"properties,omitempty"`
	Required    []string    `json:"required,omitempty"`
	Additional  any         `json:"additionalProperties,omitempty"`
	Items       *jsonSchema `json:"items,omitempty"`
	Ref         string      `json:"$ref,omitempty"`
	Defs        properties  `json:"$defs,omitempty"`

	target *jsonSchema // of Ref
}

// properties are the members of an object in their order.
type properties []property

type property struct {
	name   string
	schema *jsonSchema
}

func (p properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, m := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		text, err := json.Marshal(m.schema)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", m.name, text)
	}
	return fmt.Appendf(nil, "{%s}", b.Bytes()), nil
}

// docs/reference/json has the schema of each verb's --json. UPDATE_DOCS=1 writes them.
func TestJSONSchemas(t *testing.T) {
	dir := "../../docs/reference/json"
	for _, output := range jsonOutputs {
		m := schemaMaker{t: t, comments: map[string]string{}, open: map[reflect.Type]*jsonSchema{}}
		s := m.schema(reflect.TypeOf(output.value))
		s.Defs = m.defs
		s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", "shardfeed "+strings.ReplaceAll(output.name, "-", " ")+" --json"
		if output.name == "stats" {
			s.Title = "stats() of the Python package"
		}
		want, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, output.name+".schema.json")
		if os.Getenv("UPDATE_DOCS") != "" {
			write(t, name, string(want)+"\n")
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != string(want)+"\n" {
			t.Errorf("%s is not what --json prints: UPDATE_DOCS=1 go test ./cmd/shardfeed -run TestJSONSchemas writes it (%v)", name, err)
		}
		for _, line := range output.runs {
			t.Run(line, func(t *testing.T) { checkOutput(t, s, line) })
		}
	}
	if found, err := os.ReadDir(dir); err != nil || len(found) != len(jsonOutputs) {
		t.Errorf("%d schemas, want %d, %v", len(found), len(jsonOutputs), err)
	}
}

// checkOutput runs a command line and holds what it prints against the schema.
func checkOutput(t *testing.T, s *jsonSchema, line string) {
	t.Helper()
	line = strings.NewReplacer("$SHOP", "../../testdata/shop", "$DIR", t.TempDir()).Replace(line)
	_, stdout, stderr := command(t, strings.Fields(line)...)
	var value any
	d := json.NewDecoder(strings.NewReader(stdout))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		t.Fatalf("%v: %s%s", err, stdout, stderr)
	}
	s.check(t, "$", value)
}

// check holds a value against the schema.
func (s *jsonSchema) check(t *testing.T, at string, value any) {
	t.Helper()
	if s.target != nil {
		s = s.target
	}
	if s.Type == nil {
		return
	}
	if kinds := fmt.Sprint(s.Type); !slices.ContainsFunc(kindsOf(value), func(k string) bool { return strings.Contains(kinds, k) }) {
		t.Errorf("%s is %v, want %v", at, value, s.Type)
		return
	}
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			s.Items.check(t, fmt.Sprintf("%s[%d]", at, i), item)
		}
	case map[string]any:
		s.checkMembers(t, at, v)
	}
}

func (s *jsonSchema) checkMembers(t *testing.T, at string, members map[string]any) {
	t.Helper()
	for _, name := range s.Required {
		if _, ok := members[name]; !ok {
			t.Errorf("%s has no %q", at, name)
		}
	}
	for name, value := range members {
		i := slices.IndexFunc(s.Properties, func(p property) bool { return p.name == name })
		if rest, ok := s.Additional.(*jsonSchema); i < 0 && ok {
			rest.check(t, at+"."+name, value)
			continue
		}
		if i < 0 {
			t.Errorf("%s has %q, which the schema lacks", at, name)
			continue
		}
		s.Properties[i].schema.check(t, at+"."+name, value)
	}
}

func kindsOf(value any) []string {
	switch v := value.(type) {
	case nil:
		return []string{"null"}
	case bool:
		return []string{"boolean"}
	case string:
		return []string{"string"}
	case []any:
		return []string{"array"}
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return []string{"number"}
		}
		return []string{"integer", "number"}
	}
	return []string{"object"}
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	kinds         = map[reflect.Kind]string{
		reflect.Bool: "boolean", reflect.String: "string", reflect.Float32: "number", reflect.Float64: "number",
		reflect.Int: "integer", reflect.Int8: "integer", reflect.Int16: "integer", reflect.Int32: "integer", reflect.Int64: "integer",
		reflect.Uint: "integer", reflect.Uint8: "integer", reflect.Uint16: "integer", reflect.Uint32: "integer", reflect.Uint64: "integer",
	}
)

// A schemaMaker makes the schema of a type.
type schemaMaker struct {
	t        *testing.T
	comments map[string]string            // of fields, by "Type.Field"
	open     map[reflect.Type]*jsonSchema // of the types around
	defs     properties                   // of types that hold themselves
}

func (m *schemaMaker) schema(typ reflect.Type) *jsonSchema {
	switch {
	case typ == reflect.TypeFor[time.Time]():
		return &jsonSchema{Type: "string", Format: "date-time"}
	case typ == reflect.TypeFor[json.RawMessage](), typ.Implements(marshaler):
		return &jsonSchema{}
	case typ.Implements(textMarshaler):
		return &jsonSchema{Type: "string"}
	}
	switch typ.Kind() {
	case reflect.Pointer:
		s := m.schema(typ.Elem())
		if s.Type != nil {
			s.Type = []any{s.Type, "null"}
		}
		return s
	case reflect.Slice, reflect.Array:
		return &jsonSchema{Type: []any{"array", "null"}, Items: m.schema(typ.Elem())}
	case reflect.Map:
		return &jsonSchema{Type: []any{"object", "null"}, Additional: m.schema(typ.Elem())}
	case reflect.Struct:
		return m.object(typ)
	}
	return &jsonSchema{Type: kinds[typ.Kind()]}
}

// object is the schema of a struct; one that holds itself becomes a definition.
func (m *schemaMaker) object(typ reflect.Type) *jsonSchema {
	if around := m.open[typ]; around != nil {
		ref := "#/$defs/" + typ.Name()
		if !slices.ContainsFunc(m.defs, func(p property) bool { return p.name == typ.Name() }) {
			m.defs = append(m.defs, property{typ.Name(), around})
		}
		return &jsonSchema{Ref: ref, target: around}
	}
	s := &jsonSchema{Type: "object"}
	m.open[typ] = s
	m.addFields(s, typ)
	delete(m.open, typ)
	if i := slices.IndexFunc(m.defs, func(p property) bool { return p.schema == s }); i >= 0 {
		return &jsonSchema{Ref: "#/$defs/" + typ.Name(), target: s}
	}
	return s
}

// addFields adds the members that a struct's fields become.
func (m *schemaMaker) addFields(s *jsonSchema, typ reflect.Type) {
	m.readComments(typ.PkgPath())
	for f := range fieldsOf(typ) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			m.addFields(s, embedded)
			continue
		case !f.IsExported() || name == "-":
			continue
		case name == "":
			name = f.Name
		}
		s.drop(name) // a field of an embedded struct
		member := m.schema(f.Type)
		member.Description = m.comments[typ.Name()+"."+f.Name]
		s.Properties = append(s.Properties, property{name, member})
		if !strings.Contains(options, "omit") {
			s.Required = append(s.Required, name)
		}
	}
}

// drop removes a member.
func (s *jsonSchema) drop(name string) {
	s.Properties = slices.DeleteFunc(s.Properties, func(p property) bool { return p.name == name })
	s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name })
}

func fieldsOf(typ reflect.Type) iter.Seq[reflect.StructField] {
	return func(yield func(reflect.StructField) bool) {
		for i := range typ.NumField() {
			if !yield(typ.Field(i)) {
				return
			}
		}
	}
}

// readComments reads the comments of the fields of a package of ours.
func (m *schemaMaker) readComments(path string) {
	rest, ours := strings.CutPrefix(path, "github.com/shardfeed/shardfeed")
	if !ours || m.comments[path] != "" {
		return
	}
	m.comments[path] = "read"
	files, err := filepath.Glob(filepath.Join("../..", rest, "*.go"))
	if err != nil {
		m.t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			m.t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				noteFields(spec, m.comments)
			}
			return true
		})
	}
}

func noteFields(spec *ast.TypeSpec, comments map[string]string) {
	fields, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range fields.Fields.List {
		text := f.Comment.Text()
		if text == "" {
			text = f.Doc.Text()
		}
		for _, name := range f.Names {
			comments[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(text), " ")
		}
	}
}
