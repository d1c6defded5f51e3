package hive

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table/internal/thrift"
)

// described is the metadata of a table in a metastore.
type described struct {
	address
	kind       string // MANAGED_TABLE, EXTERNAL_TABLE, VIRTUAL_VIEW, ...
	created    int64  // seconds since 1970
	columns    []named
	keys       []named // partition columns
	parameters map[string]string
	storage    storage
}

// A named column has a type in Hive's words.
type named struct{ name, kind string }

// A storage is where a table or a partition has its files, and how.
type storage struct {
	location, input, serde string
	parameters             map[string]string // of the serde
}

// describe reads Table of hive_metastore.thrift.
func describe(a address, t thrift.Struct) *described {
	d := &described{address: a, kind: t.Text(12), created: t.Int(4), keys: columnsOf(t.Structs(8)), parameters: t.Map(9)}
	sd := t.Struct(7)
	d.columns, d.storage = columnsOf(sd.Structs(1)), storageOf(sd)
	return d
}

// storageOf reads StorageDescriptor.
func storageOf(sd thrift.Struct) storage {
	serde := sd.Struct(7)
	return storage{location: sd.Text(2), input: sd.Text(3), serde: serde.Text(2), parameters: serde.Map(3)}
}

func columnsOf(all []thrift.Struct) (columns []named) {
	for _, f := range all {
		columns = append(columns, named{f.Text(1), f.Text(2)})
	}
	return columns
}

// Parameters of tables.
const (
	tableType        = "table_type" // of Iceberg's
	metadataLocation = "metadata_location"
	transactional    = "transactional"
	storageHandler   = "storage_handler"
	byIndex          = "parquet.column.index.access"

	provider       = "spark.sql.sources.provider"
	whoseParts     = "spark.sql.partitionProvider"
	sparkSchema    = "spark.sql.sources.schema"
	schemaParts    = "spark.sql.sources.schema.numParts"
	schemaPart     = "spark.sql.sources.schema.part."
	partitionCount = "spark.sql.sources.schema.numPartCols"
)

// provider is the format by which Spark keeps the table; "hive" for tables of Hive.
func (d *described) provider() string {
	if p := strings.ToLower(d.parameters[provider]); p != "" {
		return p
	}
	return "hive"
}

func (d *described) isIceberg() bool {
	return strings.EqualFold(d.parameters[tableType], "iceberg") && d.parameters[metadataLocation] != ""
}

// location is where the table is. Spark keeps it with the options of its own tables.
func (d *described) location() string {
	if d.provider() != "hive" {
		for name, path := range d.storage.parameters {
			if strings.EqualFold(name, "path") && path != "" {
				return path
			}
		}
	}
	return d.storage.location
}

// isTrue reports whether a parameter of the table or of its serde is true.
func (d *described) isTrue(name string) bool {
	return strings.EqualFold(d.parameters[name], "true") || strings.EqualFold(d.storage.parameters[name], "true")
}

// check refuses tables that are not plain parquet.
func (d *described) check() error {
	format := d.provider()
	switch {
	case strings.HasSuffix(d.kind, "VIEW"):
		return fmt.Errorf("%w: it is a view, which has no files: only tables can be read", shard.ErrBadURI)
	case d.isTrue(transactional):
		return fmt.Errorf("%w: it is a transactional (ACID) table, whose files also hold rows that it deleted or replaced: copy it to a plain table", shard.ErrBadURI)
	case d.parameters[storageHandler] != "" || strings.EqualFold(d.parameters[tableType], "iceberg"):
		return fmt.Errorf("%w: its rows are kept by %s", shard.ErrBadURI, last(d.parameters[storageHandler]))
	case d.isTrue(byIndex):
		return fmt.Errorf("%w: it finds the columns of its files by their places (%s): only names can be followed", shard.ErrBadURI, byIndex)
	case format != "hive" && format != "parquet":
		return fmt.Errorf("%w: its files are of format %s, and only parquet can be read", shard.ErrBadURI, format)
	case format == "parquet" && d.parameters[partitionCount] != "" && !strings.EqualFold(d.parameters[whoseParts], "catalog"):
		return fmt.Errorf("%w: the metastore does not have its partitions: run MSCK REPAIR TABLE in Spark first", shard.ErrBadURI)
	case d.location() == "":
		return fmt.Errorf("%w: the metastore has no location of it", shard.ErrCorrupt)
	}
	for name := range d.storage.parameters {
		if format == "parquet" && slices.Contains(choosesFiles, strings.ToLower(name)) {
			return fmt.Errorf("%w: its option %s chooses files, which cannot be followed", shard.ErrBadURI, name)
		}
	}
	if format == "hive" {
		return d.storage.check()
	}
	return nil
}

// choosesFiles are the options of Spark's tables by which not all files belong to a table.
var choosesFiles = []string{"pathglobfilter", "modifiedafter", "modifiedbefore"}

// The classes of parquet tables: of today's Hive, and of the library that it came from.
var (
	parquetInputs = []string{"org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat", "parquet.hive.DeprecatedParquetInputFormat", "parquet.hive.MapredParquetInputFormat"}
	parquetSerdes = []string{"org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe", "parquet.hive.serde.ParquetHiveSerDe"}
)

// formats are other formats by a part of their classes.
var formats = []struct{ class, name string }{
	{"orc", "ORC"},
	{"avro", "Avro"},
	{"hoodie", "Hudi"},
	{"opencsv", "CSV"},
	{"json", "JSON"},
	{"sequencefile", "sequence files"},
	{"rcfile", "RCFile"},
	{"textinput", "text"},
}

// check refuses other classes than parquet's.
func (s storage) check() error {
	if slices.Contains(parquetInputs, s.input) && slices.Contains(parquetSerdes, s.serde) {
		return nil
	}
	name := last(s.input) + " with " + last(s.serde)
	classes := strings.ToLower(name)
	for _, f := range formats {
		if strings.Contains(classes, f.class) {
			name = f.name
			break
		}
	}
	return fmt.Errorf("%w: its files are of format %s, and only parquet can be read", shard.ErrBadURI, name)
}

// last is the name of a class without its package.
func last(class string) string {
	if class == "" {
		return "an unknown class"
	}
	return class[strings.LastIndexByte(class, '.')+1:]
}
