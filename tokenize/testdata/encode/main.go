// Command encode is a test program: it encodes documents from standard input, and writes their
// tokens to standard output. A document is its length in bytes, as 4 bytes, little-endian, and the
// bytes; its tokens are their number and each of them, in the same form.
//
//	encode [-template] [-passes N] [-memory] TOKENIZER < documents > tokens
//
// With -memory, the last line of standard error has the bytes of the tables and of the encoder. It
// writes the seconds of processor time of each pass to standard error, one line a pass.
package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/shardfeed/shardfeed/tokenize"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "encode:", err)
		os.Exit(1)
	}
}

func run() error {
	template := flag.Bool("template", false, "add the tokens of the template")
	passes := flag.Int("passes", 1, "encode all documents this often")
	memory := flag.Bool("memory", false, "write the bytes of the tables and of the encoder to standard error")
	flag.Parse()
	if flag.NArg() != 1 {
		return errors.New("usage: encode [-template] [-passes N] [-memory] TOKENIZER < documents > tokens")
	}
	file, err := os.ReadFile(flag.Arg(0))
	if err != nil {
		return err
	}
	t, err := tokenize.Load(file)
	if err != nil {
		return err
	}
	documents, err := read(os.Stdin)
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(1)
	e := t.NewEncoder(tokenize.Options{Template: *template})
	for range *passes - 1 {
		if err := encode(e, documents, io.Discard); err != nil {
			return err
		}
	}
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	if err := errors.Join(encode(e, documents, out), out.Flush()); err != nil {
		return err
	}
	if *memory {
		fmt.Fprintln(os.Stderr, t.Memory(), e.Memory())
	}
	return nil
}

// read returns the documents of a stream.
func read(in io.Reader) (documents [][]byte, err error) {
	all, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	for len(all) > 0 {
		if len(all) < 4 {
			return nil, io.ErrUnexpectedEOF
		}
		n := binary.LittleEndian.Uint32(all)
		if uint64(len(all)-4) < uint64(n) {
			return nil, io.ErrUnexpectedEOF
		}
		documents, all = append(documents, all[4:4+n]), all[4+n:]
	}
	return documents, nil
}

// atOnce is the number of documents between two looks at the clock, which would cost more than a
// short document.
const atOnce = 64

// encode writes the tokens of documents, and measures the time without the writes.
func encode(e *tokenize.Encoder, documents [][]byte, out io.Writer) (err error) {
	var ids []int32
	var raw []byte
	var ends [atOnce]int
	var spent time.Duration
	for some := range slices.Chunk(documents, atOnce) {
		ids = ids[:0]
		start := processor()
		for i, d := range some {
			if ids, err = e.Append(ids, d); err != nil {
				return err
			}
			ends[i] = len(ids)
		}
		spent += processor() - start
		raw = raw[:0]
		at := 0
		for i := range some {
			raw = binary.LittleEndian.AppendUint32(raw, uint32(ends[i]-at))
			for _, id := range ids[at:ends[i]] {
				raw = binary.LittleEndian.AppendUint32(raw, uint32(id))
			}
			at = ends[i]
		}
		if _, err := out.Write(raw); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "%.3f\n", spent.Seconds())
	return nil
}

// processor returns the processor time of this process.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
