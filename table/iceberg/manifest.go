package iceberg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/internal/avro"
)

// A manifest is an entry of a snapshot's list.
type manifest struct {
	path     string
	bytes    int64
	spec     int32
	sequence int64
	first    int64 // ID of the first row without one of its file's, or -1
}

// Contents of files.
const (
	contentData      = 0
	contentPositions = 1
	contentEquality  = 2
)

// A dataFile is a data file of a snapshot.
type dataFile struct {
	path      string // as manifests and delete files spell it
	size      int64
	rows      int64
	sequence  int64
	first     int64 // ID of the first row, or -1
	partition int32 // index in the files
}

// A deleteFile deletes rows of data files with a lower sequence number, or the same one in the case
// of positions.
type deleteFile struct {
	dataFile
	content int64
	vector  bool    // in a puffin file
	keys    []int32 // field IDs of an equality delete
	of      string  // the data file that it belongs to, or ""
	blob    shard.Span
}

// A fileSet is the files of a snapshot.
type fileSet struct {
	data       []dataFile
	deletes    []deleteFile
	partitions []partition
	byKey      map[string]int32 // partitions, by the bytes of their values
}

var listFields = []avro.Field{
	{ID: 500, Name: "manifest_path"},
	{ID: 501, Name: "manifest_length"},
	{ID: 502, Name: "partition_spec_id"},
	{ID: 515, Name: "sequence_number"},
	{ID: 504, Name: "added_files_count"},
	{ID: 505, Name: "existing_files_count"},
	{ID: 519, Name: "key_metadata"},
	{ID: 520, Name: "first_row_id"},
}

// manifests reads the list of a snapshot, without manifests that only have deleted entries.
func manifests(content []byte) ([]manifest, error) {
	list, err := avro.Open(content)
	if err != nil {
		return nil, err
	}
	var all []manifest
	err = list.Read(listFields, func(v []avro.Value) error {
		switch {
		case v[0].Kind != avro.Bytes || v[1].Kind != avro.Int:
			return fmt.Errorf("%w: an entry of the manifest list has no path or no length", shard.ErrCorrupt)
		case v[6].Kind != avro.Null:
			return errEncrypted
		case v[4].Kind == avro.Int && v[5].Kind == avro.Int && v[4].Int == 0 && v[5].Int == 0:
			return nil
		}
		all = append(all, manifest{string(v[0].Bytes), v[1].Int, int32(v[2].Int), v[3].Int, rowID(v[7])})
		return nil
	})
	return all, err
}

// entryFields lists the fields to read of a manifest's entry, the values of its partition last.
func entryFields(s *spec) []avro.Field {
	partition := make([]avro.Field, 0, len(s.Fields)) // not nil, also if it is empty
	for _, f := range s.Fields {
		partition = append(partition, avro.Field{ID: f.ID, Name: f.Name})
	}
	return []avro.Field{
		{Name: "status"},
		{ID: 3, Name: "sequence_number"},
		{ID: 2, Name: "data_file", Parts: []avro.Field{
			{ID: 134, Name: "content"},
			{ID: 100, Name: "file_path"},
			{ID: 101, Name: "file_format"},
			{ID: 103, Name: "record_count"},
			{ID: 104, Name: "file_size_in_bytes"},
			{ID: 131, Name: "key_metadata"},
			{ID: 135, Name: "equality_ids"},
			{ID: 143, Name: "referenced_data_file"},
			{ID: 144, Name: "content_offset"},
			{ID: 145, Name: "content_size_in_bytes"},
			{ID: 142, Name: "first_row_id"},
			{ID: 102, Name: "partition", Parts: partition},
		}},
	}
}

// Places of values of an entry.
const (
	status = iota
	sequence
	content
	filePath
	fileFormat
	recordCount
	fileSize
	keyMetadata
	equalityIDs
	referencedFile
	contentOffset
	contentSize
	firstRow
	partitionValues
)

// Statuses of entries.
const (
	existing = 0
	added    = 1
	deleted  = 2
)

// readManifests reads the files of all manifests.
func (r *reader) readManifests(ctx context.Context, all []manifest) (*fileSet, error) {
	files := &fileSet{byKey: map[string]int32{}}
	var mu sync.Mutex
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(r.parallel())
	for _, m := range all {
		group.Go(func() error {
			one, err := r.readManifest(inner, &m)
			if err != nil {
				return r.wrap(r.locate(m.path), err)
			}
			mu.Lock()
			defer mu.Unlock()
			files.merge(one, r.meta)
			return nil
		})
	}
	return files, group.Wait()
}

func (r *reader) readManifest(ctx context.Context, m *manifest) (*fileSet, error) {
	content, err := r.read(ctx, m.path, m.bytes, shard.Span{N: m.bytes})
	if err != nil {
		return nil, err
	}
	file, err := avro.Open(content)
	if err != nil {
		return nil, err
	}
	s, err := r.meta.spec(m.spec)
	if err != nil {
		return nil, err
	}
	files := &fileSet{byKey: map[string]int32{}}
	next := m.first
	var key []byte
	err = file.Read(entryFields(s), func(v []avro.Value) error {
		if v[status].Int == deleted {
			return nil
		}
		f, err := entry(m, v)
		if err != nil {
			return err
		}
		if f.first < 0 && next >= 0 { // it inherits the next IDs of the manifest
			f.first = next
			next += f.rows
		}
		key = appendKey(key[:0], s.ID, v[partitionValues:])
		if f.partition, err = files.partition(key, s, v[partitionValues:], r.fields); err != nil {
			return err
		}
		return files.add(f, v)
	})
	return files, err
}

// partition returns the index of a partition, which it adds if it is new.
func (s *fileSet) partition(key []byte, of *spec, values []avro.Value, fields []table.Field) (int32, error) {
	if at, ok := s.byKey[string(key)]; ok {
		return at, nil
	}
	p := partition{spec: of}
	for _, v := range values {
		p.values = append(p.values, partitionValue{v.Kind, v.Int, string(v.Bytes)})
	}
	at := int32(len(s.partitions))
	err := p.constantsOf(fields)
	s.partitions = append(s.partitions, p)
	s.byKey[string(key)] = at
	return at, err
}

// entry returns a file with its sequence number, which an added file inherits of its manifest.
func entry(m *manifest, v []avro.Value) (dataFile, error) {
	f := dataFile{path: string(v[filePath].Bytes), rows: v[recordCount].Int, size: v[fileSize].Int, sequence: v[sequence].Int, first: -1}
	if m.first >= 0 { // else its snapshot is older than the IDs
		f.first = rowID(v[firstRow])
	}
	switch {
	case v[filePath].Kind != avro.Bytes || f.path == "":
		return f, fmt.Errorf("%w: an entry has no path", shard.ErrCorrupt)
	case v[recordCount].Kind != avro.Int || v[fileSize].Kind != avro.Int || f.rows < 0 || f.size < 0:
		return f, fmt.Errorf("%w: the entry of %s has no number of rows or no size", shard.ErrCorrupt, f.path)
	case v[keyMetadata].Kind != avro.Null:
		return f, errEncrypted
	case v[sequence].Kind == avro.Null && v[status].Int == existing && m.sequence != 0:
		return f, fmt.Errorf("%w: the entry of %s has no sequence number", shard.ErrCorrupt, f.path)
	case v[sequence].Kind == avro.Null:
		f.sequence = m.sequence
	}
	return f, nil
}

// rowID is the ID of a row, or -1.
func rowID(v avro.Value) int64 {
	if v.Kind != avro.Int {
		return -1
	}
	return v.Int
}

// add keeps a file by its content.
func (s *fileSet) add(f dataFile, v []avro.Value) error {
	format := v[fileFormat].Bytes
	vector := v[content].Int == contentPositions && bytes.EqualFold(format, []byte("puffin"))
	if !vector && !bytes.EqualFold(format, []byte("parquet")) {
		return fmt.Errorf("%s is a file of format %q, and only parquet can be read", f.path, bytes.ToLower(format))
	}
	if v[content].Int == contentData {
		s.data = append(s.data, f)
		return nil
	}
	d := deleteFile{dataFile: f, content: v[content].Int, vector: vector, of: string(v[referencedFile].Bytes)}
	switch {
	case d.content == contentEquality:
		for _, id := range v[equalityIDs].Ints {
			d.keys = append(d.keys, int32(id))
		}
		if len(d.keys) == 0 {
			return fmt.Errorf("%w: the equality delete %s has no columns", shard.ErrCorrupt, f.path)
		}
	case d.content != contentPositions:
		return fmt.Errorf("%s has content %d, which is not known", f.path, d.content)
	case d.vector:
		d.blob = shard.Span{Off: v[contentOffset].Int, N: v[contentSize].Int}
		if v[contentOffset].Kind != avro.Int || v[contentSize].Kind != avro.Int || d.of == "" {
			return fmt.Errorf("%w: the deletion vector in %s has no data file, offset or size", shard.ErrCorrupt, f.path)
		}
	}
	s.deletes = append(s.deletes, d)
	return nil
}

// merge adds the files of one manifest.
func (s *fileSet) merge(one *fileSet, m *metadata) {
	at := make([]int32, len(one.partitions))
	for i := range one.partitions {
		key := one.partitions[i].key(m)
		known, ok := s.byKey[key]
		if !ok {
			known = int32(len(s.partitions))
			s.partitions = append(s.partitions, one.partitions[i])
			s.byKey[key] = known
		}
		at[i] = known
	}
	for i := range one.data {
		one.data[i].partition = at[one.data[i].partition]
	}
	for i := range one.deletes {
		one.deletes[i].partition = at[one.deletes[i].partition]
	}
	s.data = append(s.data, one.data...)
	s.deletes = append(s.deletes, one.deletes...)
}

// wrap names a file of the table in an error.
func (r *reader) wrap(uri string, err error) error {
	if e := (*shard.Error)(nil); errors.As(err, &e) {
		return err
	}
	if errors.Is(err, avro.ErrCorrupt) {
		err = fmt.Errorf("%w: %w", shard.ErrCorrupt, err)
	}
	return &shard.Error{Op: "table", URI: uri, Err: err}
}
