package hive

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/table"
)

// current names the files that a plain table has now, whatever they are.
const current = "current"

var (
	errNoHistory = errors.New("it is a plain table of Hive, which has no history: it has the current files of its partitions")
	errNoMoment  = errors.New("it is a plain table of Hive, whose snapshots have only the names that states of a run with refresh have, as in 2026-11-29T02:00:00Z-9f86d081884c7d65; leave the snapshot out")
)

// A moment is a snapshot of a plain table: the files of the partitions that existed at a time.
type moment struct {
	created int64  // of the newest partition, or of a table without partitions
	digest  string // of columns and files, by which a change of older partitions is found
}

func (m moment) String() string {
	return time.Unix(m.created, 0).UTC().Format(time.RFC3339) + "-" + m.digest
}

// digestBytes keep the digest short: it guards against changes, not attacks.
const digestBytes = 8

// momentOf returns the moment of a snapshot with its columns and files; created is the table's own.
func momentOf(created int64, places []place, s *table.Snapshot) moment {
	if len(places) > 0 {
		created = 0
	}
	for _, p := range places {
		created = max(created, p.created)
	}
	h := sha256.New()
	for _, f := range s.Fields {
		fmt.Fprintf(h, "%q %s\n", f.Column.Name, f.Column)
	}
	for _, f := range s.Files {
		fmt.Fprintf(h, "%q %d %q", f.Shard.URI, f.Shard.Size, f.Shard.Version)
		for _, c := range f.Constants {
			fmt.Fprintf(h, " %d %t %x", c.Field, c.Value.Null, c.Value.Data)
		}
		h.Write([]byte{'\n'})
	}
	return moment{created, hex.EncodeToString(h.Sum(nil)[:digestBytes])}
}

// parseMoment parses the name of a moment; "" is the zero moment.
func parseMoment(name string) (m moment, err error) {
	if name == "" {
		return m, nil
	}
	end := strings.LastIndexByte(name, '-')
	if end < 0 {
		return m, errNoMoment
	}
	at, err := time.Parse(time.RFC3339, name[:end])
	m = moment{at.Unix(), name[end+1:]}
	if err != nil || m.String() != name || len(m.digest) != 2*digestBytes {
		return m, errNoMoment
	}
	return m, nil
}
