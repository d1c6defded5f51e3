package delta

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// An action is a line of a commit or of a checkpoint in JSON.
type action struct {
	Add      *add      `json:"add"`
	Remove   *remove   `json:"remove"`
	Protocol *protocol `json:"protocol"`
	Metadata *metadata `json:"metaData"`
	Sidecar  *sidecar  `json:"sidecar"`
	Info     *info     `json:"commitInfo"`
}

type add struct {
	Path      string          `json:"path"`
	Partition json.RawMessage `json:"partitionValues"`
	Size      int64           `json:"size"`
	Stats     *stats          `json:"stats"`
	Vector    *vector         `json:"deletionVector"`
	FirstRow  *int64          `json:"baseRowId"`
}

type remove struct {
	Path   string  `json:"path"`
	Vector *vector `json:"deletionVector"`
}

type metadata struct {
	ID         string            `json:"id"`
	Schema     string            `json:"schemaString"`
	Partitions []string          `json:"partitionColumns"`
	Config     map[string]string `json:"configuration"`
	Format     struct {
		Provider string `json:"provider"`
	} `json:"format"`
}

type sidecar struct {
	Path string `json:"path"`
	Size int64  `json:"sizeInBytes"`
}

// info describes a commit.
type info struct {
	Timestamp int64  `json:"timestamp"`         // milliseconds
	InCommit  *int64 `json:"inCommitTimestamp"` // the same, if the table keeps it in commits
	Operation string `json:"operation"`
}

func (i *info) millis() int64 {
	if i.InCommit != nil {
		return *i.InCommit
	}
	return i.Timestamp
}

// stats is the number of rows in the statistics of a file, which are JSON in a string; -1 if they
// lack it.
type stats int64

// rows is the number of rows of the file.
func (a *add) rows() int64 {
	if a.Stats == nil {
		return -1
	}
	return int64(*a.Stats)
}

// firstRow is the ID of the first row of the file, or -1.
func (a *add) firstRow() int64 {
	if a.FirstRow == nil {
		return -1
	}
	return *a.FirstRow
}

// firstStat is how most statistics start.
const firstStat = `{"numRecords":`

func (s *stats) UnmarshalJSON(b []byte) error {
	var text string
	if rest, ok := bytes.CutPrefix(b, []byte(`"{\"numRecords\":`)); ok {
		if n, ok := leadingNumber(rest); ok {
			*s = stats(n)
			return nil
		}
	}
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	*s = parseStats([]byte(text))
	return nil
}

// parseStats reads statistics. What cannot be read is as if it lacked the number.
func parseStats(text []byte) stats {
	if rest, ok := bytes.CutPrefix(text, []byte(firstStat)); ok {
		if n, ok := leadingNumber(rest); ok {
			return stats(n)
		}
	}
	var all struct {
		Rows *int64 `json:"numRecords"`
	}
	if json.Unmarshal(text, &all) != nil || all.Rows == nil || *all.Rows < 0 {
		return -1
	}
	return stats(*all.Rows)
}

// leadingNumber parses the digits that a text starts with, and that end before a comma or brace.
func leadingNumber(text []byte) (int64, bool) {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	if n == len(text) || text[n] != ',' && text[n] != '}' {
		return 0, false
	}
	v, err := strconv.ParseInt(string(text[:n]), 10, 64)
	return v, err == nil
}
