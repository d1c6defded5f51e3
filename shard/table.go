package shard

import (
	"context"
	"fmt"
	"path"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/internal/option"
)

// A Table is a directory that a table format manages: its files also hold rows that the table
// deleted or replaced, and only its log or metadata lists the valid ones.
type Table struct {
	Format string // "Delta", "Iceberg", "Hudi" or "Hive ACID"; "" for a plain directory
	Mark   string // address of the log, metadata or directory that shows the format
}

// Refuse returns the error of an address that names a directory of the table.
func (t Table) Refuse(address string) error {
	files := "/**/*.parquet"
	if t.Format == "Hive ACID" {
		files = "/**" // without endings
	}
	hint := "export the table to plain parquet"
	if t.Format == "Delta" || t.Format == "Iceberg" {
		hint = "give " + option.Literal(strings.ToLower(t.Format)+"+"+Redact(t.Root())) + " to read the table's rows"
	}
	return &Error{
		Op: "list", URI: address,
		Err: fmt.Errorf("%w: it is a directory of %s table (%s), and its files also hold rows that the table deleted or replaced",
			ErrBadURI, t.article(), brief(Redact(t.Mark), longestAddress)),
		Hint: hint + fmt.Sprintf("; or, to read all rows of chosen files, name the files or a glob, as in %s",
			option.Literal(Redact(strings.TrimRight(address, "/"))+files)),
	}
}

// Root is the address of the table's directory.
func (t Table) Root() string {
	mark := strings.TrimRight(t.Mark, "/")
	for _, below := range []string{"/_delta_log", "/metadata"} {
		if i := strings.LastIndex(mark, below); i >= 0 {
			return mark[:i]
		}
	}
	return mark
}

func (t Table) note() string {
	return fmt.Sprintf("some files belong to %s table (%s) and are read as plain parquet: rows that the table deleted or replaced may be among them",
		t.article(), brief(Redact(t.Mark), longestAddress))
}

func (t Table) article() string {
	if t.Format == "Iceberg" {
		return "an " + t.Format
	}
	return "a " + t.Format
}

// A TableStore is a Store that finds the table that a directory belongs to.
type TableStore interface {
	// Above returns the addresses of the directories around an address, the nearest first.
	Above(address string) []string
	// TableAt reports the table whose root is a directory, or the zero Table, also if the directory
	// does not exist or cannot be read.
	TableAt(ctx context.Context, dir string) (Table, error)
}

// TablesOf returns store as a TableStore; one that finds no tables if store cannot.
func TablesOf(store Store) TableStore {
	if t, ok := store.(TableStore); ok {
		return t
	}
	return noTables{}
}

type noTables struct{}

func (noTables) Above(string) []string                          { return nil }
func (noTables) TableAt(context.Context, string) (Table, error) { return Table{}, nil }

// How far the tables of addresses are looked for.
const (
	maxAbove   = 8  // directories around an address
	maxNamed   = 64 // directories of named files
	looksAbove = 16 // at a time
)

// tables finds the tables around addresses, looking at each directory once.
type tables struct {
	store TableStore

	mu   sync.Mutex
	seen map[string]Table // by directory
}

// around returns the table that holds an address, or the zero Table.
func (t *tables) around(ctx context.Context, address string) (Table, error) {
	dirs := t.store.Above(address)
	dirs = dirs[:min(len(dirs), maxAbove)]
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(looksAbove)
	found := make([]Table, len(dirs))
	for i, dir := range dirs {
		group.Go(func() (err error) {
			found[i], err = t.at(inner, dir)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Table{}, err
	}
	for _, table := range found {
		if table.Format != "" {
			return table, nil
		}
	}
	return Table{}, nil
}

func (t *tables) at(ctx context.Context, dir string) (Table, error) {
	t.mu.Lock()
	table, ok := t.seen[dir]
	t.mu.Unlock()
	if ok {
		return table, nil
	}
	table, err := t.store.TableAt(ctx, dir)
	if err != nil {
		return Table{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen == nil {
		t.seen = make(map[string]Table)
	}
	t.seen[dir] = table
	return table, nil
}

// ofNamed returns the first table that holds one of some files. It only makes a note, so that
// servers that refuse a look do not matter.
func (t *tables) ofNamed(ctx context.Context, files map[string]string) (first Table, err error) {
	for _, file := range files {
		table, err := t.around(ctx, file)
		if ctx.Err() != nil {
			return Table{}, err
		}
		if err == nil && table.Format != "" && (first.Format == "" || table.Mark < first.Mark) {
			first = table
		}
	}
	return first, nil
}

// checkTable refuses a directory of a table, and remembers files that are named.
func (f *finder) checkTable(ctx context.Context, address string, found []Shard) error {
	if !isDirectory(address, found) {
		f.addNamed(found)
		return nil
	}
	table, err := f.tables.around(ctx, address)
	if err != nil || table.Format == "" {
		return err
	}
	return table.Refuse(address)
}

func (f *finder) addNamed(found []Shard) {
	if f.named == nil {
		f.named = make(map[string]string)
	}
	for _, s := range found {
		if len(f.named) == maxNamed {
			return
		}
		f.named[tableDir(s.URI)] = s.URI
	}
}

// tableDir is the directory of a file without its key=value directories.
func tableDir(uri string) string {
	dir := path.Dir(uri)
	for strings.Contains(path.Base(dir), "=") {
		dir = path.Dir(dir)
	}
	return dir
}
