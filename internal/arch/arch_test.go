package arch

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
)

const module = "github.com/shardfeed/shardfeed"

func TestMain(m *testing.M) { leaktest.Main(m) }

// pkg is what `go list -json` says about a package; paths of ours are kept relative to the module.
type pkg struct {
	Dir, ImportPath, Name, Doc                         string
	GoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles []string
	Imports, Deps                                      []string
}

// moduleRoot is the directory of go.mod, found from the directory of this test.
func moduleRoot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatalf("go list -m: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// packages lists every package of the module.
func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=Dir,ImportPath,Name,Doc,GoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles,Imports,Deps", "./...")
	cmd.Dir = moduleRoot(t)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		all = append(all, p)
	}
}

// root is the name of the module's root package in the rules.
const root = "shardfeed"

// rel is an import path as the rules name it: "shard/local", or "" for one that is not ours.
func rel(importPath string) string {
	if importPath == module {
		return root
	}
	p, ok := strings.CutPrefix(importPath, module+"/")
	if !ok {
		return ""
	}
	return p
}

// rule says what the packages at and below a path may import of ours. Everything that is not named
// is a missing edge.
type rule struct {
	at     string
	may    []string
	anyOur bool // the programs: they wire everything
}

// rules in the order of the levels; the longest path that fits counts.
var rules = []rule{
	{at: "shard", may: []string{"internal/option", "internal/text"}},
	{at: "shard/all", may: []string{"shard", "shard/local", "shard/mem", "shard/s3", "shard/hdfs", "shard/web", "shard/hub", "shard/gs", "shard/azure"}},
	{at: "shard/local", may: []string{"shard", "shard/driver"}},
	{at: "shard/mem", may: []string{"shard", "shard/driver"}},
	{at: "shard/driver", may: []string{"shard", "internal/cause", "internal/wait"}},
	{at: "shard/driver/bucket", may: []string{"shard", "shard/driver", "internal/cause"}},
	{at: "shard/driver/connect", may: []string{"shard", "shard/driver", "internal/cause", "internal/regular"}}, // HTTP: the rest of the kit knows no protocol
	{at: "shard/web", may: []string{"shard", "shard/driver", "shard/driver/connect", "internal/cause"}},
	{at: "shard/hub", may: []string{"shard", "shard/driver", "shard/driver/connect", "shard/web", "internal/cause", "internal/regular"}},
	{at: "shard/cloud", may: []string{"shard", "shard/driver", "shard/driver/bucket", "shard/driver/connect", "shard/web", "internal/cause"}},
	{at: "shard/azure", may: []string{"shard", "shard/cloud", "shard/driver", "shard/driver/bucket", "shard/driver/connect", "shard/web", "internal/regular"}},
	{at: "shard/gs", may: []string{"shard", "shard/cloud", "shard/driver", "shard/driver/bucket", "shard/driver/connect", "shard/web", "internal/regular"}},
	{at: "shard/s3", may: []string{"shard", "shard/driver", "shard/driver/bucket", "internal/cause", "internal/regular"}},
	{at: "shard/hdfs", may: []string{"shard", "shard/hdfs/krb", "shard/driver", "shard/driver/connect", "internal/cause", "internal/regular"}},
	{at: "shard/hdfs/krb", may: []string{"shard", "internal/cause"}}, // logins of Kerberos, of metastores too
	{at: "shard/shardtest", may: []string{"shard", "shard/driver", "internal/wait"}},
	{at: "shuffle"},
	{at: "audit"},  // numbers alone: no order, no data
	{at: "column"}, // what all layers tell each other of columns
	{at: "rule", may: []string{"column", "shuffle", "internal/option", "internal/half", "internal/text"}}, // the language of filters: no stores, no files
	{at: "tokenize", may: []string{"internal/option"}},                                                    // text in, tokens out: no files, no data sets
	{at: "table", may: []string{"column", "shard"}},                                                       // what tables hold: no formats, no parquet
	{at: "table/delta", may: []string{"column", "shard", "table", "internal/cause", "internal/option", "internal/text", "table/internal/roaring", "table/internal/spark"}},
	{at: "table/iceberg", may: []string{"column", "shard", "table", "internal/cause", "internal/option", "internal/text", "table/internal/avro", "table/internal/roaring"}},
	{at: "table/scan", may: []string{"column", "shard", "table", "rowgroup", "internal/mem"}}, // parquet for the formats
	{at: "table/tabletest", may: []string{"column", "shard", "table", "rowgroup", "internal/mem", "internal/jsonl"}},
	{at: "table/iceberg/rest", may: []string{"shard", "shard/driver/connect", "table", "table/iceberg", "internal/option", "internal/regular"}}, // catalogs: no files of tables
	{at: "table/internal/avro"},
	{at: "table/internal/spark", may: []string{"column", "shard", "table"}}, // schemas and values as texts
	{at: "table/hive", may: []string{"shard", "shard/driver/connect", "table", "table/delta", "table/iceberg", "table/internal/sasl", "table/internal/spark", "table/internal/thrift", "shard/hdfs/krb", "internal/option", "internal/regular"}}, // catalogs, as rest
	{at: "table/internal/sasl", may: []string{"shard", "shard/hdfs/krb"}}, // connections of Thrift by Kerberos
	{at: "table/internal/thrift"},                                         // calls and structs, of no service
	{at: "table/internal/roaring"},                                        // bitmaps of both formats: bytes in, ranges out
	{at: "table/all", may: []string{"shard", "table", "table/delta", "table/hive", "table/iceberg", "table/iceberg/rest"}},
	{at: "internal/mem"},
	{at: "internal/option"}, // what is wrong with options, and how each face spells it
	{at: "internal/option/optiontest", may: []string{"internal/option"}},
	{at: "internal/cause"},
	{at: "internal/cores"},
	{at: "internal/crc"},
	{at: "internal/half"},
	{at: "internal/iteration", may: []string{"shuffle"}}, // what the loaders of the host and of devices share
	{at: "internal/size"},
	{at: "internal/printable"},
	{at: "internal/regular"}, // files that are read whole, and are no pipes or devices
	{at: "internal/table"},
	{at: "internal/text"},
	{at: "internal/loads", may: []string{"internal/wait"}}, // what streams load, for traces
	{at: "internal/wait"},                                  // why a training loop has no batch, in the words of all layers
	{at: "internal/verdict", may: []string{"internal/wait", "internal/text", "internal/mem"}}, // figures in, one line out
	{at: "internal/trusted"},
	{at: "internal/unischema"}, // petastorm's schemas: bytes in, fields out
	{at: "internal/segmentdir", may: []string{"internal/trusted"}},
	{at: "cache", may: []string{"shard", "internal/cores", "internal/crc", "internal/mem", "internal/size", "internal/trusted", "internal/wait"}},
	{at: "internal/parquet", may: []string{"internal/mem"}}, // the format alone: no stores, no data sets
	{at: "rowgroup/internal/block", may: []string{"column", "shard", "rule", "internal/half", "internal/mem", "internal/option", "internal/parquet"}},
	{at: "rowgroup/internal/image", may: []string{"column", "shard", "rowgroup/internal/block", "internal/crc", "internal/mem", "internal/parquet"}},
	{at: "rowgroup/internal/schema", may: []string{"column", "rule", "shard", "table", "internal/mem", "internal/option", "internal/parquet", "rowgroup/internal/block"}},                // no files are read
	{at: "rowgroup/internal/footer", may: []string{"column", "shard", "internal/mem", "internal/parquet", "internal/segmentdir", "rowgroup/internal/block", "rowgroup/internal/schema"}}, // footers are read, and nothing else
	{at: "rowgroup/internal/estimate", may: []string{"column", "internal/mem", "internal/parquet", "rowgroup/internal/block", "rowgroup/internal/footer", "rowgroup/internal/schema"}},   // footers to bytes: no files are read
	{at: "rowgroup/internal/petastorm", may: []string{"column", "shard", "internal/unischema", "rowgroup/internal/block", "rowgroup/internal/footer"}},
	{at: "rowgroup/internal/filetest"},
	{at: "rowgroup", may: []string{"column", "rule", "shard", "table", "internal/wait", "internal/crc", "internal/mem", "internal/option", "internal/parquet", "internal/half", "rowgroup/internal/block", "rowgroup/internal/estimate", "rowgroup/internal/petastorm", "rowgroup/internal/footer", "rowgroup/internal/image", "rowgroup/internal/schema"}},
	{at: "iterable/internal/panics", may: []string{"rowgroup"}},
	{at: "iterable/internal/keep", may: []string{"shard", "rowgroup", "internal/mem", "internal/cores", "iterable/internal/panics"}}, // row groups and memory: no orders, no streams
	{at: "iterable/internal/samples", may: []string{"column", "table", "tokenize", "iterable/internal/transform", "shard", "rowgroup", "rule", "shuffle", "internal/mem", "internal/option", "internal/cause", "internal/cores", "internal/segmentdir", "iterable/internal/panics"}},                  // rules and row groups: no orders, no streams
	{at: "iterable/internal/tables", may: []string{"shard", "rowgroup", "table", "table/scan", "column", "internal/option"}},                                                                                                                                                                          // a snapshot and its footers: no rows
	{at: "iterable/internal/saved", may: []string{"shard", "table", "internal/option", "rowgroup", "shuffle", "internal/mem", "internal/regular"}},                                                                                                                                                    // files of plans, lists and inventories: no data sets
	{at: "iterable/internal/ahead", may: []string{"iterable/internal/transform", "rowgroup", "rule", "shuffle", "internal/mem", "internal/cause", "internal/loads", "internal/wait", "iterable/internal/keep", "iterable/internal/minheap", "iterable/internal/panics", "iterable/internal/samples"}}, // loads: no data sets, no orders
	{at: "iterable/internal/unitcache", may: []string{"iterable/internal/ahead", "rowgroup", "internal/mem", "internal/cause", "internal/wait"}},                                                                                                                                                      // decoded units: no data sets, no orders
	{at: "iterable/internal/verify", may: []string{"rowgroup"}}, // row groups: no data sets
	{at: "iterable/internal/minheap"},
	{at: "iterable/internal/transform", may: []string{"column", "rowgroup", "tokenize", "internal/cores", "internal/option"}}, // columns of blocks: no files, no orders
	{at: "iterable/internal/estimate", may: []string{"rowgroup", "internal/mem", "iterable/internal/ahead", "iterable/internal/minheap", "iterable/internal/samples"}},
	{at: "loader", may: []string{"audit", "column", "images", "images/boxes", "images/codec", "iterable", "rowgroup", "shuffle", "internal/mem", "internal/option", "internal/cause", "internal/iteration", "internal/half", "internal/wait"}},
	{at: "iterable", may: []string{"audit", "tokenize", "iterable/internal/ahead", "iterable/internal/transform", "iterable/internal/estimate", "iterable/internal/minheap", "iterable/internal/keep", "iterable/internal/samples", "iterable/internal/saved", "iterable/internal/tables", "iterable/internal/panics", "iterable/internal/unitcache", "iterable/internal/verify", "column", "table", "shard", "rowgroup", "rule", "shuffle", "internal/mem", "internal/option", "internal/cause", "internal/cores", "internal/segmentdir", "internal/size", "internal/wait"}},
	{at: "internal/arrowipc", may: []string{"column"}},
	{at: "loader/loaderarrow", may: []string{"column", "loader", "internal/arrowipc"}},
	{at: "gpu", may: []string{"column", "loader", "iterable", "shuffle", "internal/mem", "internal/option", "internal/cause", "internal/iteration", "internal/wait"}},
	{at: "gpu/cuda", may: []string{"gpu"}},
	{at: "internal/fakecuda"},
	{at: "internal/jsonl", may: []string{"column", "internal/mem", "internal/half"}},
	{at: root, may: []string{"column", "tokenize", "shard", "shard/all", "shard/hdfs", "shard/s3", "shard/hub", "shard/gs", "shard/azure", "shard/web", "table", "table/all", "table/scan", "table/hive", "table/iceberg/rest", "cache", "rowgroup", "rule", "shuffle", "iterable", "loader", "images", "images/boxes", "images/codec", "internal/cores", "internal/mem", "internal/option", "internal/size", "internal/text", "internal/trusted", "internal/regular"}},
	{at: "internal/inspect", may: []string{"internal/table", "internal/text", "column", "shard", "rowgroup", "shuffle", "internal/mem", "internal/parquet", "internal/jsonl"}}, // the verb's alone
	{at: "internal/engine", may: []string{root, "audit", "cache", "column", "loader", "iterable", "rowgroup", "shard", "shuffle", "internal/cores", "internal/loads", "internal/mem", "internal/option", "internal/regular", "internal/verdict", "internal/wait"}},
	{at: "internal/engine/wire", may: []string{root, "audit", "loader", "iterable", "rowgroup", "shard", "shuffle", "internal/loads", "internal/mem", "internal/option", "internal/wait"}}, // messages and failures: no data sets, no sessions
	{at: "images/codec"},
	{at: "images/boxes", may: []string{"internal/option"}}, // pictures are views to it
	{at: "images/turbo", may: []string{"images/codec"}},
	{at: "images/augment", may: []string{"internal/image/random"}}, // draws: no pixels
	{at: "images", may: []string{"images/augment", "images/codec", "internal/image/paint", "internal/image/random", "internal/image/resize", "internal/option", "internal/half"}}, // not images/turbo: the program chooses the decoder
	{at: "internal/image/random"},
	{at: "internal/image/resize"},
	{at: "internal/image/paint", may: []string{"images/augment", "internal/image/resize"}}, // pixels in memory: no files, no draws
	{at: "internal/image/imagetest", may: []string{"images/codec"}},
	{at: "cmd", anyOur: true},
	{at: "bench", anyOur: true},
	{at: "examples", anyOur: true},
	{at: "testdata"},
	{at: "internal/leaktest"},
	{at: "internal/racetest"},
	{at: "internal/servertest"},
	{at: "internal/arch"},
}

// ruleFor is the rule with the longest path at or above p.
func ruleFor(p string) (rule, bool) {
	for ; p != "."; p = path.Dir(p) {
		if i := slices.IndexFunc(rules, func(r rule) bool { return r.at == p }); i >= 0 {
			return rules[i], true
		}
	}
	return rule{}, false
}

// closure is everything of ours that a package with rule r may depend on, itself or through what it
// imports.
func closure(r rule) map[string]bool {
	seen := map[string]bool{r.at: true}
	for todo := slices.Clone(r.may); len(todo) > 0; todo = todo[1:] {
		if seen[todo[0]] {
			continue
		}
		seen[todo[0]] = true
		if next, ok := ruleFor(todo[0]); ok {
			todo = append(todo, next.may...)
		}
	}
	return seen
}

// reached reports whether p is in reach, itself or as a part of a package that is: who may import
// one gets its own sub-packages with it.
func reached(reach map[string]bool, p string) bool {
	r, ok := ruleFor(p)
	return ok && reach[r.at]
}

// within reports whether p is one of the allowed paths, or lies below r's own path (a package may
// use its own sub-packages).
func within(r rule, allowed func(string) bool, p string) bool {
	return allowed(p) || p == r.at || strings.HasPrefix(p, r.at+"/")
}

func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		name := rel(p.ImportPath)
		r, ok := ruleFor(name)
		if !ok {
			t.Errorf("package %s has no rule: say here what it may import", name)
			continue
		}
		if r.anyOur {
			continue
		}
		for _, i := range p.Imports {
			if q := rel(i); q != "" && !within(r, func(s string) bool { return slices.Contains(r.may, s) }, q) {
				t.Errorf("%s imports %s, and may only import %v", name, q, r.may)
			}
		}
		reach := closure(r)
		for _, d := range p.Deps {
			if q := rel(d); q != "" && !within(r, func(s string) bool { return reached(reach, s) }, q) {
				t.Errorf("%s depends on %s", name, q)
			}
		}
	}
}

// TestMissingEdges asserts the rules themselves: a level never reaches one above it, and the pairs
// that must not know each other don't.
func TestMissingEdges(t *testing.T) {
	levels := [][]string{
		{"internal/option"},
		{"shard", "shuffle", "internal/mem", "internal/cause", "internal/size", "internal/trusted", "internal/regular"},
		{"cache", "internal/parquet", "rule"},
		{"rowgroup"},
		{"iterable", "internal/iteration"},
		{"loader"},
		{"gpu", "loader/loaderarrow", root},
		{"internal/engine"},
	}
	for low, names := range levels {
		for _, name := range names {
			r, _ := ruleFor(name)
			reach := closure(r)
			for _, above := range slices.Concat(levels[low:]...) {
				if above != name && reach[above] {
					t.Errorf("the rules let %s reach %s, which is not below it", name, above)
				}
			}
		}
	}
	for _, edge := range [][2]string{{"shard", "internal/mem"}, {"shuffle", "internal/mem"}, {"cache", "rowgroup"}, {"internal/parquet", "shard"}, {"iterable", "cache"}, {"loader", "cache"}} {
		r, _ := ruleFor(edge[0])
		if closure(r)[edge[1]] {
			t.Errorf("the rules let %s reach %s", edge[0], edge[1])
		}
	}
}

// foreign says which packages alone may depend on a dependency, itself or through others.
var foreign = map[string][]string{
	"github.com/apache/arrow-go":       {"loader/loaderarrow"}, // not loader, and not the command: it links 4 MB
	"github.com/parquet-go/parquet-go": {"internal/parquet", "rowgroup", "table/scan", "table/tabletest", "iterable", "loader", "gpu", root, "internal/engine", "internal/inspect", "internal/jsonl", "cmd", "bench", "examples"},
	"github.com/aws/aws-sdk-go-v2":     {"shard/s3", "shard/all", "table/iceberg/rest", "table/all", root, "internal/engine", "cmd", "bench", "internal/servertest"},
	"github.com/colinmarc/hdfs":        {"shard/hdfs", "shard/all", root, "internal/engine", "cmd", "bench"},
	"github.com/dgraph-io/ristretto":   {"rowgroup", "table/scan", "table/tabletest", "iterable", "loader", "gpu", root, "internal/engine", "internal/inspect", "internal/jsonl", "cmd", "bench", "examples"},
	"github.com/prometheus":            {"cmd"},                                                                       // the library does not link it
	"github.com/ebitengine/purego":     {"gpu/cuda", "internal/fakecuda", "images/turbo", "cmd", "bench", "examples"}, // not gpu: who needs no driver links none
}

func TestForeignDependencies(t *testing.T) {
	for _, p := range packages(t) {
		name := rel(p.ImportPath)
		for dep, allowed := range foreign {
			uses := slices.ContainsFunc(p.Deps, func(d string) bool { return d == dep || strings.HasPrefix(d, dep+"/") })
			fits := slices.ContainsFunc(allowed, func(a string) bool { return name == a || strings.HasPrefix(name, a+"/") })
			if uses && !fits {
				t.Errorf("%s links %s", name, dep)
			}
			direct := slices.ContainsFunc(p.Imports, func(i string) bool { return i == dep || strings.HasPrefix(i, dep+"/") })
			if dep == "github.com/parquet-go/parquet-go" && direct && slices.Contains([]string{"shard", "shuffle", "iterable", "loader", "gpu"}, strings.Split(name, "/")[0]) {
				t.Errorf("%s imports %s: it is that of rowgroup and internal/parquet alone", name, dep)
			}
		}
	}
}

// TestNoCuda: with the tags nocuda and noturbo the command calls no shared library, so that it can
// be linked statically; without one of them, it does: wheels have nocuda and load libjpeg-turbo.
func TestNoCuda(t *testing.T) {
	for tag, want := range map[string]bool{"nocuda,noturbo": false, "nocuda": true, "noturbo": true, "any": true} {
		cmd := exec.Command("go", "list", "-deps", "-tags", tag, "./cmd/shardfeed")
		cmd.Dir = moduleRoot(t)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		calls := slices.ContainsFunc(strings.Fields(string(out)), func(d string) bool {
			return strings.HasPrefix(d, "github.com/ebitengine/purego") || d == "runtime/cgo"
		})
		if calls != want {
			t.Errorf("with the tag %s the command links purego: %v, want %v", tag, calls, want)
		}
	}
}

// TestShuffleIsPure: the order is integers alone, so nothing that reads a clock, the machine or a
// random source is in reach.
func TestShuffleIsPure(t *testing.T) {
	for _, p := range packages(t) {
		if rel(p.ImportPath) != "shuffle" {
			continue
		}
		for _, i := range p.Imports {
			if slices.Contains([]string{"time", "os", "runtime", "math/rand", "math/rand/v2", "crypto/rand", "net", "unsafe"}, i) {
				t.Errorf("shuffle imports %s", i)
			}
			if strings.Contains(strings.Split(i, "/")[0], ".") {
				t.Errorf("shuffle imports %s: it uses the standard library alone", i)
			}
		}
	}
}

func TestTopLevelFolders(t *testing.T) {
	want := []string{
		"audit", "bench", "bin", "cache", "cmd", "column", "deploy", "dist", "docs", "examples", "gpu", "images", "internal", "iterable", "loader", "python",
		"rowgroup", "rule", "shard", "shuffle", "table", "testdata", "tokenize", "tools",
	}
	entries, err := os.ReadDir(moduleRoot(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		// Hidden folders are those of tools and editors.
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !slices.Contains(want, e.Name()) {
			t.Errorf("folder %s is not in the layout", e.Name())
		}
	}
}

// TestEveryPackage: a doc.go that says what the package is, and a leak check where there are tests.
func TestEveryPackage(t *testing.T) {
	for _, p := range packages(t) {
		name := rel(p.ImportPath)
		if p.Doc == "" {
			t.Errorf("%s has no package comment", name)
		}
		if len(p.GoFiles) > 1 && !slices.Contains(p.GoFiles, "doc.go") {
			t.Errorf("%s has no doc.go", name)
		}
		if tests := slices.Concat(p.TestGoFiles, p.XTestGoFiles); len(tests) > 0 && !leakChecked(t, p.Dir, tests) {
			t.Errorf("the tests of %s have no TestMain with leaktest.Main", name)
		}
	}
}

// leakChecked looks for the leak check in a package's test files.
func leakChecked(t *testing.T, dir string, files []string) bool {
	t.Helper()
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "leaktest.Main(") || strings.Contains(string(text), "goleak.Find(") {
			return true
		}
	}
	return false
}

// TestBigEndianRefused builds for a big-endian machine and expects one readable reason.
func TestBigEndianRefused(t *testing.T) {
	cmd := exec.Command("go", "build", "./internal/mem")
	cmd.Dir = moduleRoot(t)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=s390x", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatal("the build for s390x passed")
	}
	if want := "shardfeed_needs_a_little_endian_machine"; !strings.Contains(string(out), want) {
		t.Errorf("the build for s390x said %q, want %s in it", out, want)
	}
}
