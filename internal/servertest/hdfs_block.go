package servertest

import (
	"strconv"
	"strings"
	"testing"
)

// A Block is one block of a file.
type Block struct {
	Name  string
	Size  int64
	Nodes []int // the datanodes with a replica
}

// Blocks lists the blocks of a file.
func (c *Cluster) Blocks(t testing.TB, path string) []Block {
	t.Helper()
	var blocks []Block
	for word := range strings.FieldsSeq(c.command(t, "blocks", path)) {
		name, rest, _ := strings.Cut(word, ":")
		size, nodes, _ := strings.Cut(rest, "@")
		b := Block{Name: name, Size: number(t, size)}
		for node := range strings.SplitSeq(nodes, ",") {
			b.Nodes = append(b.Nodes, int(number(t, node)))
		}
		blocks = append(blocks, b)
	}
	return blocks
}

func number(t testing.TB, word string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// FlipBlock flips a bit of one byte of a block's replica on a datanode.
func (c *Cluster) FlipBlock(t testing.TB, node int, block string, off int64) {
	t.Helper()
	c.command(t, "flipblock", strconv.Itoa(node), block, strconv.FormatInt(off, 10))
}

// TruncateBlock cuts a replica's file.
func (c *Cluster) TruncateBlock(t testing.TB, node int, block string, size int64) {
	t.Helper()
	c.command(t, "truncblock", strconv.Itoa(node), block, strconv.FormatInt(size, 10))
}

// RemoveBlock removes a replica's file behind the back of its datanode.
func (c *Cluster) RemoveBlock(t testing.TB, node int, block string) {
	t.Helper()
	c.command(t, "rmblock", strconv.Itoa(node), block)
}

// RemoveChecksums removes the checksums of a replica.
func (c *Cluster) RemoveChecksums(t testing.TB, node int, block string) {
	t.Helper()
	c.command(t, "rmsums", strconv.Itoa(node), block)
}
