package webhdfs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// Version is the version of a file in HDFS, whichever way it is read: its modification time in
// milliseconds and its inode number.
func Version(modified, inode int64) string {
	return strconv.FormatInt(modified, 10) + "-" + strconv.FormatInt(inode, 10)
}

// splitVersion cuts a version; ok is false if it is not one of ours.
func splitVersion(version string) (modified, inode int64, ok bool) {
	m, i, found := strings.Cut(version, "-")
	modified, err := strconv.ParseInt(m, 10, 64)
	if !found || err != nil {
		return 0, 0, false
	}
	inode, err = strconv.ParseInt(i, 10, 64)
	return modified, inode, err == nil && inode >= 0
}

// A status describes a file or directory of a server.
type status struct {
	Name        string `json:"pathSuffix"`
	Type        string `json:"type"`
	Length      int64  `json:"length"`
	Modified    int64  `json:"modificationTime"` // milliseconds since 1970
	Inode       int64  `json:"fileId"`           // 0 if the server hides it
	BlockSize   int64  `json:"blockSize"`
	Replication int    `json:"replication"`
	ErasureBit  bool   `json:"ecBit"`
	Policy      string `json:"ecPolicy"`
	Encrypted   bool   `json:"encBit"`
}

// entry describes what a name is for driver.Walk.
func (s status) entry() driver.Entry {
	e := driver.Entry{Name: s.Name, Size: s.Length, Version: Version(s.Modified, s.Inode)}
	switch s.Type {
	case "DIRECTORY":
		e.Kind, e.Size, e.Version = driver.KindDir, 0, ""
	case "FILE":
	default:
		e.Kind = driver.KindOther
	}
	return e
}

func (s status) differs(from shard.Shard) error {
	switch now := Version(s.Modified, s.Inode); {
	case s.Type != "FILE":
		return fmt.Errorf("%w: it is no longer a file", shard.ErrChanged)
	case !from.Admits(now):
		return fmt.Errorf("%w: was %d bytes, %s, is %d bytes, %s", shard.ErrChanged, from.Size, instant(from.Version), s.Length, instant(now))
	case s.Length != from.Size:
		return fmt.Errorf("%w: was %d bytes, is %d", shard.ErrChanged, from.Size, s.Length)
	}
	return nil
}

func instant(version string) string {
	modified, inode, ok := splitVersion(version)
	if !ok {
		return "version " + version
	}
	return fmt.Sprintf("modified at %s (inode %d)", time.UnixMilli(modified).UTC().Format("2006-01-02T15:04:05.000Z"), inode)
}

// unmarshal decodes an answer. Servers may send more than is used, but nothing else. A body of
// another service is worth another try.
func unmarshal(body []byte, into any) error {
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(into); err != nil {
		return fmt.Errorf("%w: it starts with %.60q", errForeign, body)
	}
	return nil
}

// parseStatus reads the answer to GETFILESTATUS.
func parseStatus(body []byte) (status, error) {
	var answer struct {
		FileStatus *status
	}
	if err := unmarshal(body, &answer); err != nil {
		return status{}, err
	}
	if answer.FileStatus == nil || answer.FileStatus.Length < 0 {
		return status{}, fmt.Errorf("%w: it holds no status of a file", errForeign)
	}
	return *answer.FileStatus, nil
}

type statuses struct {
	FileStatus []status
}

// parseList reads the answer to LISTSTATUS.
func parseList(body []byte) ([]status, error) {
	var answer struct {
		FileStatuses *statuses
	}
	if err := unmarshal(body, &answer); err != nil {
		return nil, err
	}
	if answer.FileStatuses == nil {
		return nil, fmt.Errorf("%w: it holds no list of files", errForeign)
	}
	return answer.FileStatuses.FileStatus, nil
}

// A page is a part of a list, and how many files follow.
type page struct {
	files []status
	left  int64
}

// parsePage reads the answer to LISTSTATUS_BATCH.
func parsePage(body []byte) (page, error) {
	var answer struct {
		DirectoryListing *struct {
			PartialListing struct {
				FileStatuses statuses
			} `json:"partialListing"`
			RemainingEntries int64 `json:"remainingEntries"`
		}
	}
	if err := unmarshal(body, &answer); err != nil {
		return page{}, err
	}
	if answer.DirectoryListing == nil {
		return page{}, fmt.Errorf("%w: it holds no list of files", errForeign)
	}
	return page{answer.DirectoryListing.PartialListing.FileStatuses.FileStatus, answer.DirectoryListing.RemainingEntries}, nil
}

// locations has the blocks of a file from a server.
type locations struct {
	Open   bool // still being written
	Blocks []shard.Block
	Nodes  []datanode // of all blocks, as often as they hold one
}

// A datanode is known to HTTP clients by its web server, to the namenode by its transfer port.
type datanode struct {
	Host       string `json:"hostName"`
	IP         string `json:"ipAddr"`
	Port       int    `json:"xferPort"`
	HTTPPort   int    `json:"infoPort"`
	SecurePort int    `json:"infoSecurePort"`
}

// located is the answer to GET_BLOCK_LOCATIONS of a namenode.
type located struct {
	Open   bool `json:"isUnderConstruction"`
	Blocks []struct {
		Start int64 `json:"startOffset"`
		Block struct {
			N int64 `json:"numBytes"`
		} `json:"block"`
		Nodes []datanode `json:"locations"`
	} `json:"locatedBlocks"`
}

// hosted is the answer to GETFILEBLOCKLOCATIONS, which does not show open files.
type hosted struct {
	BlockLocation []struct {
		Off   int64    `json:"offset"`
		N     int64    `json:"length"`
		Hosts []string `json:"hosts"`
	}
}

// parseLocations reads either answer about a file's blocks.
func parseLocations(body []byte) (locations, error) {
	var answer struct {
		LocatedBlocks  *located
		BlockLocations *hosted
	}
	if err := unmarshal(body, &answer); err != nil {
		return locations{}, err
	}
	var found locations
	switch {
	case answer.LocatedBlocks != nil:
		found.Open = answer.LocatedBlocks.Open
		for _, b := range answer.LocatedBlocks.Blocks {
			block := shard.Block{Span: shard.Span{Off: b.Start, N: b.Block.N}}
			for _, n := range b.Nodes {
				block.Hosts = append(block.Hosts, n.Host)
			}
			found.Blocks = append(found.Blocks, block)
			found.Nodes = append(found.Nodes, b.Nodes...)
		}
	case answer.BlockLocations != nil:
		for _, b := range answer.BlockLocations.BlockLocation {
			found.Blocks = append(found.Blocks, shard.Block{Span: shard.Span{Off: b.Off, N: b.N}, Hosts: b.Hosts})
		}
	default:
		return locations{}, fmt.Errorf("%w: it holds no blocks", errForeign)
	}
	return found, nil
}
