package shardfeed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
)

// Documents are the first texts of a data set's columns with tokenizers, and their tokens. A
// program that has the tokenizers' own library compares them with its tokens.
type Documents struct {
	// Checked is the path of a file that the program makes if all agree, so that later ones need
	// not compare; "" where the machine has no place for it.
	Checked string               `json:"checked"`
	Columns []TokenizedDocuments `json:"columns"`
}

// TokenizedDocuments are the documents of one column, and the tokenizer.
type TokenizedDocuments struct {
	Tokenizer string     `json:"tokenizer"`        // the column of tokens
	Source    string     `json:"source,omitempty"` // that has a tokenizer of its own; "" is all others
	Column    string     `json:"column"`           // the column of texts
	File      []byte     `json:"file,omitempty"`   // content of Tokenizer.File
	Documents []Document `json:"documents"`
}

// A Document is a text and its tokens.
type Document struct {
	Path   string  `json:"path"` // of the shard, without credentials
	Row    int64   `json:"row"`  // in the shard
	Text   string  `json:"text"`
	Tokens []int32 `json:"tokens"`
}

const (
	mostDocuments = 1000    // of a column
	documentBytes = 1 << 20 // of their texts: half a second's work for the library tokenizers
)

// Documents reads the first texts of the first shard of each source. It returns nil if the data set
// has no tokenizer, or a program compared the same before with this version of the library.
func (d *Dataset) Documents(ctx context.Context, library string) (*Documents, error) {
	checked := d.checkedFile(library)
	if _, err := os.Stat(checked); err == nil || len(d.tokenizers) == 0 {
		return nil, nil
	}
	all := &Documents{Checked: checked}
	for _, r := range d.textReaders() {
		of, err := r.documents(ctx)
		if err != nil {
			return nil, fmt.Errorf("documents of column %q: %w", r.text, err)
		}
		all.Columns = append(all.Columns, of)
	}
	return all, nil
}

// A textReader reads the first documents of a column of texts that share a tokenizer.
type textReader struct {
	*Dataset
	name, text string // columns of tokens and of texts
	own        string // the source that has the tokenizer in place of all sources', or ""
	given      Tokenizer
	tokenizer  iterable.Tokenizer
	manifests  map[int]*rowgroup.Reader // by source
}

// textReaders returns the readers of all columns of texts.
func (d *Dataset) textReaders() (all []*textReader) {
	add := func(r textReader) {
		for _, text := range r.tokenizer.Texts(r.name) {
			of := r
			of.text = text
			all = append(all, &of)
		}
	}
	for _, name := range sortedKeys(d.tokenizers) {
		shared := textReader{Dataset: d, name: name, given: d.spec.Tokenize[name], tokenizer: d.tokenizers[name], manifests: map[int]*rowgroup.Reader{}}
		for i, m := range d.Manifests() {
			if i < len(d.sources) && d.sources[i].Tokenize[name].Tokenizer != nil {
				of := d.sources[i]
				add(textReader{
					Dataset: d, name: name, own: of.Name, given: d.spec.Sources[i].Tokenize[name], tokenizer: of.Tokenize[name],
					manifests: map[int]*rowgroup.Reader{i: m},
				})
				continue
			}
			shared.manifests[i] = m
		}
		if len(shared.manifests) > 0 {
			add(shared)
		}
	}
	return all
}

// DocumentsJSON returns Documents as JSON, or nil.
func (d *Dataset) DocumentsJSON(ctx context.Context, library string) ([]byte, error) {
	all, err := d.Documents(ctx, library)
	if err != nil || all == nil {
		return nil, err
	}
	return json.Marshal(all)
}

// checkedFile returns the name of the file that remembers a comparison.
func (d *Dataset) checkedFile(library string) string {
	dir := d.spec.Places().Checked
	if dir == "" {
		return ""
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", library)
	for _, r := range d.textReaders() {
		fmt.Fprintf(h, "%q %q %q %s\n", r.name, r.text, r.own, r.tokenizer.Line())
	}
	for _, s := range d.firstShards() {
		fmt.Fprintf(h, "%q %d %q\n", shard.Redact(s.URI), s.Size, s.Version)
	}
	return filepath.Join(dir, hex.EncodeToString(h.Sum(nil)))
}

// firstShards returns the first shard of each source that has one.
func (d *Dataset) firstShards() (all []shard.Shard) {
	for _, m := range d.Manifests() {
		if shards := m.Shards(); len(shards) > 0 {
			all = append(all, shards[0])
		}
	}
	return all
}

func (t *textReader) documents(ctx context.Context) (of TokenizedDocuments, err error) {
	of.Tokenizer, of.Source, of.Column = t.name, t.own, t.text
	if t.given.File != "" {
		if of.File, err = t.spec.tokenizerContent(ctx, t.source.drivers, t.given); err != nil {
			return of, err
		}
	}
	sources := max(1, len(t.sources))
	for _, i := range sortedKeys(t.manifests) {
		shards := t.manifests[i].Shards()
		if len(shards) == 0 {
			continue
		}
		part := rowgroup.Part{Shards: shards[:1]}
		if len(t.spec.Sources) > 0 {
			part.Rename = t.spec.Sources[i].Rename
		}
		r := &documentReader{tokenizer: t.tokenizer, rows: mostDocuments / sources, bytes: documentBytes / sources / len(t.tokenizers)}
		if err := r.read(ctx, t.source.Stores, part, t.spec.textReading(t.text)); err != nil {
			return of, err
		}
		of.Documents = append(of.Documents, r.documents...)
	}
	return of, nil
}

// A documentReader reads documents of one shard.
type documentReader struct {
	tokenizer   iterable.Tokenizer
	rows, bytes int // that may still be read
	documents   []Document
}

func (r *documentReader) read(ctx context.Context, stores shard.Store, part rowgroup.Part, o rowgroup.Options) (err error) {
	readers, err := rowgroup.OpenParts(ctx, stores, []rowgroup.Part{part}, o)
	if err != nil {
		return err
	}
	m := readers[0]
	defer func() { err = errors.Join(err, m.Close()) }()
	dec, first := m.NewDecoder(), int64(0)
	defer dec.Close()
	for g, group := range m.Groups() {
		narrow, wide := m.DecodedBytes(g)
		mean := max(1, (narrow+wide)/max(1, group.Rows))
		n := min(group.Rows, int64(r.rows), int64(r.bytes)/mean+1)
		if r.rows <= 0 || r.bytes <= 0 || n == 0 {
			break
		}
		if err := r.group(ctx, m, dec, rowgroup.Rows{RowGroup: int(group.RowGroup), Hi: n}, first); err != nil {
			return err
		}
		first += group.Rows
	}
	return nil
}

// group reads rows of a row group, whose first row is row first of the shard.
func (r *documentReader) group(ctx context.Context, m *rowgroup.Reader, dec *rowgroup.Decoder, rows rowgroup.Rows, first int64) error {
	raw, err := m.Fetch(ctx, rows)
	if err != nil {
		return err
	}
	defer raw.Release()
	var blocks []*rowgroup.Block
	err = raw.Refetching(ctx, func() (err error) {
		blocks, err = dec.Decode(raw, rowgroup.Layout{})
		return err
	})
	if err != nil {
		return err
	}
	defer blocks[0].Release()
	picks := make([]rowgroup.Pick, rows.Hi)
	for i := range picks {
		picks[i] = rowgroup.MakePick(0, i)
	}
	var g rowgroup.Gatherer
	texts, err := g.Gather(0, m.Schema().Fields[0], blocks, picks, func(n int) ([]byte, error) { return make([]byte, n), nil })
	if err != nil {
		return err
	}
	r.add(texts, shard.Redact(m.Shards()[0].URI), first)
	return nil
}

// add makes tokens of texts, and leaves out texts on which streams fail.
func (r *documentReader) add(texts *column.Array, path string, first int64) {
	o := r.tokenizer.Options
	o.MaxTokens = 0 // whole texts are compared
	enc := r.tokenizer.NewEncoder(o)
	for i := range texts.Len {
		text := texts.Data[texts.Offsets[i]:texts.Offsets[i+1]]
		if r.rows--; texts.IsNull(i) || len(text) > r.bytes || !utf8.Valid(text) {
			continue
		}
		tokens, err := enc.Append([]int32{}, text)
		if err != nil {
			continue
		}
		r.bytes -= len(text)
		r.documents = append(r.documents, Document{Path: path, Row: first + int64(i), Text: string(text), Tokens: tokens})
	}
}
