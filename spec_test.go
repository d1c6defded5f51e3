package shardfeed

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/boxes"
	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/internal/option/optiontest"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard/all"
	"github.com/shardfeed/shardfeed/shard/azure"
	"github.com/shardfeed/shardfeed/shard/gs"
	"github.com/shardfeed/shardfeed/shard/hdfs"
	"github.com/shardfeed/shardfeed/shard/hub"
	"github.com/shardfeed/shardfeed/shard/s3"
	"github.com/shardfeed/shardfeed/shard/web"
	"github.com/shardfeed/shardfeed/shuffle"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const shop = "testdata/shop"

func TestSpecValidatesEveryField(t *testing.T) {
	optiontest.Walk(t, Spec{Addresses: []string{shop}}, map[string]string{
		"Strict": "both are meant", "RowIDs": "both are meant", "Seeds": "both are meant", "Manifest": "a file, read by Open", "ManifestText": "read by Open", "Plan": "a file, read by Open", "SavedPlan": "read by Open", "Inventory": "compared by Open", "CountShare": "the engine makes it", "Shuffle": "both are meant",
		"Seed": "any number is a seed", "CacheDir": "any name", "IndexDir": "any name", "Env": "any variable",
		"Filters": "see TestSpecRows", "Directory": "any name", "Parts": "see TestSpecRows", "PartSeed": "any number is a seed", "Rows": "a file, read by Open",
		"Weight": "checked against the schema", "RequireCache": "both are meant", "NoteLanes": "both are meant", "NoCache": "refused with RequireCache alone", "Vocabulary": "checked against the schema",
	}, map[string][]any{
		"Unknown":  {map[string]int64{"label": 0}},
		"Tokenize": {map[string]Tokenizer{"text": {}}, map[string]Tokenizer{"text": {File: "a.json", Content: []byte("{}")}}, map[string]Tokenizer{"text": {File: "a.json", Specials: "drop"}}},
		"Sources":  {[]Source{{}}, []Source{{Name: "a", Addresses: []string{"x"}, Weight: 1}}}, "Curriculum": {[]WeightChange{{From: 5}}},
		"Part": {"train"}, "PartKey": {"user"}, "Subsample": {-1.0, 1.5}, "RowsNew": {"drop", "all"},
		"Addresses": {[]string(nil), []string{"a", ""}}, "Columns": {[]string{}, []string{""}},
		"PartitionTypes": {map[string]string{"month": "int"}},
		"MaxLost":        {-0.5, 1.5}, "ShuffleBuffer": {"many", "0", "-1", "0MiB"}, "Memory": {"much", "0", "-1", "1.5"}, "CacheLimit": {"much", "0%"},
		"Storage": {map[string]string{"nonsense": "1"}, map[string]string{"hdfs.nonsense": "1"}, map[string]string{"no-sign-request": "maybe"}},
		"Null":    {map[string]json.RawMessage{"a": json.RawMessage("null")}, map[string]json.RawMessage{"a": json.RawMessage("[1]")}},
		"Pack": {
			&Pack{}, &Pack{Columns: map[string]int{"a": 0}}, &Pack{Columns: map[string]int{"a": 8, "b": 9}}, &Pack{Columns: map[string]int{"a": 8}, Strategy: "ffd"},
			&Pack{Columns: map[string]int{"a": 8}, With: []string{"mask"}}, &Pack{Columns: map[string]int{"a": 8}, Labels: "shifted"},
		},
		"Bucket": {&Bucket{}, &Bucket{Columns: map[string]int{"a": 0}}, &Bucket{Columns: map[string]int{"a": 1}, Multiple: -1}, &Bucket{Columns: map[string]int{"a": 1}, MaxRows: -1}},
		"Cast":   {map[string]string{"a": "int33"}, map[string]string{"": "int32"}},
		"Hash":   {map[string]int64{"a": 0}},
		"Scale":  {map[string][]float64{"a": {1}}, map[string][]float64{"a": {1, 0}}},
		"Stack":  {map[string]Stack{"x": {}}, map[string]Stack{"x": {Columns: []string{"a"}, DType: "float"}}, map[string]Stack{"x": {Columns: []string{"a"}, Null: json.RawMessage(`[1]`)}}},
		"Images": {
			map[string]images.Options{"": {}},
			map[string]images.Options{"img": {Height: -1}},
			map[string]images.Options{"img": {Crop: "middle"}},
			map[string]images.Options{"img": {Flip: 2}},
		},
		"Boxes": {map[string]boxes.Options{"": {Of: "img"}}, map[string]boxes.Options{"boxes": {}}, map[string]boxes.Options{"boxes": {Of: "img", Format: "yx"}}},
		"Pad":   {[]Pad{{}}, []Pad{{Column: "a"}, {Column: "a"}}, []Pad{{Column: "a", MaxLength: -1}}, []Pad{{Column: "a", Multiple: -1}}, []Pad{{Column: "a", Value: json.RawMessage("{}")}}},
	})
}

// What a spec says reaches the data set's options.
func TestSpecOptions(t *testing.T) {
	s := Spec{
		Addresses: []string{shop}, Columns: []string{"price"}, Missing: "null", InvalidUTF8: "replace", Order: Order{Shuffle: true, Seed: 7, Lanes: 4, UnitRows: 100, Start: "direct", MaxWorldSize: 16, Tail: "drop"}, ShuffleBuffer: "512MiB",
		Choice: Choice{Filters: "price > 1", Parts: map[string]float64{"train": 9, "val": 1}, Part: "val", PartKey: "label", PartSeed: 5, Subsample: 0.5}, Words: Words{Vocabulary: map[string][]string{"label": {"a"}}, Unknown: map[string]int64{"label": 1}}, Weight: "price", Memory: "1GiB", Caching: Caching{CacheDir: "/c", IndexDir: "/i", CachePolicy: "lru"},
		Losses: Losses{OnError: "skip"}, Pack: &Pack{Columns: map[string]int{"price": 8}, Strategy: "bfd", EOS: new(int64), Value: new(int64(3)), Length: "n"},
	}
	o, err := s.parse()
	if err != nil {
		t.Fatal(err)
	}
	if !o.Shuffle || o.ShuffleBuffer.Bytes != 512<<20 || o.Seed != 7 || o.Lanes != 4 || o.UnitRows != 100 || o.Start != shuffle.Direct ||
		o.MaxWorldSize != 16 || o.Memory != 1<<30 || o.Tail != shuffle.Drop || len(o.Columns) != 1 || o.OnError != iterable.Skip {
		t.Errorf("options %+v", o)
	}
	if want := (rule.Split{Parts: s.Parts, Part: "val", Key: "label", Seed: 5, Subsample: 0.5}); o.Filters != "price > 1" || o.Weight != "price" ||
		!reflect.DeepEqual(o.Split, want) {
		t.Errorf("rows of %q, %+v, weight %q", o.Filters, o.Split, o.Weight)
	}
	if want := (rule.Pack{Columns: s.Pack.Columns, Strategy: rule.BestFit, EOS: s.Pack.EOS, Length: "n"}); !reflect.DeepEqual(*o.Pack, iterable.Pack{Pack: want, Value: 3}) {
		t.Errorf("packing %+v", o.Pack)
	}
	if !reflect.DeepEqual(o.Vocabulary, s.Vocabulary) || !reflect.DeepEqual(o.Unknown, s.Unknown) {
		t.Errorf("vocabulary %v, unknown %v", o.Vocabulary, o.Unknown)
	}
	if p := s.Places(); p.Index != "/i" || p.Manifests != "/c/manifests" || p.Root != "/c" {
		t.Errorf("places %+v", p)
	}
	if policy, keep, ok := s.policy(); policy != cache.LRU || keep != 0 || !ok {
		t.Errorf("policy %v for %v, %t", policy, keep, ok)
	}
	for text, want := range map[string]time.Duration{"": 0, "keep": 0, "keep=7d": 168 * time.Hour, "keep=36h": 36 * time.Hour, "keep=": -1, "keep=0s": -1, "keep=7": -1, "fifo": -1} {
		if policy, keep, ok := (Spec{Caching: Caching{CachePolicy: text}}).policy(); ok != (want >= 0) || ok && (policy != cache.Keep || keep != want) {
			t.Errorf("%q: policy %v for %v, %t", text, policy, keep, ok)
		}
	}
	p := Spec{Env: map[string]string{"HOME": "/elsewhere"}}.Places()
	if p.Root != "/elsewhere/.cache/shardfeed" {
		t.Errorf("places %+v", p)
	}
}

// What a spec says reaches the drivers; the name of a flag wins over a key.
func TestSpecStorage(t *testing.T) {
	for _, c := range []struct {
		name    string
		storage map[string]string
		want    all.Options
	}{
		{"nothing", nil, all.Options{}},
		{
			"by the names of flags",
			map[string]string{"endpoint-url": "http://h:1", "region": "r", "profile": "p", "request-payer": "requester", "ca-bundle": "c"},
			all.Options{
				S3:    s3.Options{EndpointURL: "http://h:1", Region: "r", Profile: "p", RequesterPays: true, CABundle: "c"},
				HDFS:  hdfs.Options{CABundle: "c"},
				Web:   web.Options{CABundle: "c"},
				Hub:   hub.Options{CABundle: "c"},
				GS:    gs.Options{CABundle: "c"},
				Azure: azure.Options{CABundle: "c"},
			},
		},
		{"anonymous", map[string]string{"no-sign-request": "true"}, all.Options{S3: s3.Options{Anonymous: true}}},
		{"Google", map[string]string{"gs.anonymous": "true", "gs.user_project": "p"}, all.Options{GS: gs.Options{Anonymous: true, UserProject: "p"}}},
		{"Azure", map[string]string{"az.account_name": "a", "az.anon": "true"}, all.Options{Azure: azure.Options{Account: "a", Anonymous: true}}},
		{
			"both names",
			map[string]string{"key": "k", "secret": "s", "client_kwargs.region_name": "a", "region": "b"},
			all.Options{S3: s3.Options{Key: "k", Secret: "s", Region: "b"}},
		},
		{
			"Kerberos",
			map[string]string{"hdfs-conf": "d", "keytab": "k", "principal": "p@R"},
			all.Options{HDFS: hdfs.Options{ConfDir: "d", Keytab: "k", Principal: "p@R"}},
		},
		{
			"Hadoop",
			map[string]string{"hdfs.user": "u", "dfs.blocksize": "1", "kerb_ticket": "t"},
			all.Options{HDFS: hdfs.Options{User: "u", CCache: "t", Conf: map[string]string{"dfs.blocksize": "1"}}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := (Spec{Storage: c.storage}).drivers(); err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%v\n got %+v\nwant %+v", err, got, c.want)
			}
		})
	}
	o, err := Spec{Env: map[string]string{"HOME": "/elsewhere"}}.drivers()
	if err != nil || o.S3.Environ["HOME"] != "/elsewhere" || o.HDFS.Getenv("HOME") != "/elsewhere" || o.GS.Getenv("HOME") != "/elsewhere" || o.Azure.Getenv("HOME") != "/elsewhere" {
		t.Errorf("environment %v, %v", o.S3.Environ, err)
	}
}

func TestLoaderOptions(t *testing.T) {
	s := Spec{
		BatchSize: 8, Workers: 3,
		Null: map[string]json.RawMessage{
			"i": json.RawMessage("-7"), "u": json.RawMessage("18446744073709551615"), "f": json.RawMessage("2.5"), "b": json.RawMessage("true"),
			"s": json.RawMessage(`"x"`), "z": json.RawMessage(`{"base64": "AQI="}`),
		},
		Pad: []Pad{{Column: "l", Value: json.RawMessage("5"), MaxLength: 9, ToMax: true, Multiple: 3, Left: true, CutLeft: true}},
	}
	want := loader.Options{
		BatchSize: 8, Workers: 3, NaN: true,
		Fill: []loader.Fill{
			{Column: "b", Value: true},
			{Column: "f", Value: 2.5},
			{Column: "i", Value: int64(-7)},
			{Column: "s", Value: "x"},
			{Column: "u", Value: uint64(1<<64 - 1)},
			{Column: "z", Value: []byte{1, 2}},
		},
		Pad: []loader.Padding{{Column: "l", Value: int64(5), Max: 9, ToMax: true, Multiple: 3, Left: true, CutLeft: true}},
	}
	if got := s.LoaderOptions(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}
