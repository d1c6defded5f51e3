package wire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A file of credentials or certificates that does not exist says nothing about the data.
func TestKindOfMissingFiles(t *testing.T) {
	_, missing := os.Open(filepath.Join(t.TempDir(), "missing"))
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"credentials", fmt.Errorf("%w: credentials: %w", shard.ErrDenied, missing), KindAccess},
		{"certificates", fmt.Errorf("the CA bundle: %w", missing), KindStorage},
		{"the data", shard.ErrNotExist, KindNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := KindOf(&shard.Error{Op: "list", URI: "s3://b", Err: c.err}); got != c.want {
				t.Errorf("%v: got %s, want %s", c.err, got, c.want)
			}
		})
	}
}

func TestFailureOf(t *testing.T) {
	page := &rowgroup.Error{Op: "decode", URI: "s3://b/k", RowGroup: 3, Column: "price", Page: 77, Err: errors.New("bad page"), Hint: "write it anew"}
	bare := func(kind string, err error) Failure {
		return Failure{Kind: kind, Text: option.Spelled(err, option.Argument), RowGroup: -1, Step: -1, Details: []string{}}
	}
	denied := &shard.Error{Op: "list", URI: "s3://b", Err: shard.ErrDenied, Hint: "give a key"}
	changed := &rowgroup.Error{Op: "fetch", URI: "f", RowGroup: 0, Page: -1, Err: &shard.Error{Op: "read", URI: "f", Err: shard.ErrChanged, Hint: "h"}}
	manifest := &iterable.ManifestError{Differences: []string{"added x"}, Saved: "/m/1", Err: errors.New("e")}
	ready := &Failure{Kind: KindRanks, Text: "t", Hint: "h", RowGroup: -1, Step: 4, Details: []string{"d"}}
	missing := &rowgroup.Error{Op: "schema", RowGroup: -1, Page: -1, Err: rowgroup.ErrMissingColumn}
	for _, c := range []struct {
		name string
		err  error
		want Failure
	}{
		{"decode in a loader", &loader.Error{Op: "read", Rank: 1, Epoch: -1, Step: -1, Err: page}, Failure{
			Kind: KindData, Text: page.Error(), Op: "decode", Shard: "s3://b/k", RowGroup: 3, Column: "price", Hint: "write it anew", Step: -1, Details: []string{},
		}},
		{"gather", &loader.Error{Op: "gather", Epoch: 1, Step: 5, Column: "a", Err: errors.New("x")}, Failure{
			Kind: KindInternal, Text: `loader: gather: rank 0, epoch 1, step 5, column "a": x`, Op: "gather", Column: "a", RowGroup: -1, Step: 5, Details: []string{},
		}},
		{"denied", denied, Failure{Kind: KindAccess, Text: denied.Error(), Op: "list", Shard: "s3://b", Hint: "give a key", RowGroup: -1, Step: -1, Details: []string{}}},
		{"changed", changed, Failure{Kind: KindData, Text: changed.Error(), Op: "fetch", Shard: "f", Hint: "h", Step: -1, Details: []string{}}},
		{"manifest", manifest, Failure{
			Kind: KindState, Text: manifest.Error(), RowGroup: -1, Step: -1, Details: []string{"added x"},
		}},
		{"missing column", missing, Failure{Kind: KindSchema, Text: missing.Error(), Op: "schema", RowGroup: -1, Step: -1, Details: []string{}}},
		{"ready", ready, *ready},
		{"ready, within", fmt.Errorf("around: %w", ready), Failure{Kind: KindRanks, Text: "around: t (h)", Hint: "h", RowGroup: -1, Step: 4, Details: []string{"d"}}},
		{"memory", &iterable.MemoryError{Err: &mem.OverLimit{}}, bare(KindMemory, &iterable.MemoryError{Err: &mem.OverLimit{}})},
		{"mismatch", &shuffle.MismatchError{Field: "rows"}, bare(KindState, &shuffle.MismatchError{Field: "rows"})},
		{"another rule", errors.Join(&shuffle.MismatchError{Field: "rule", Saved: "a", Here: "b"}, &shuffle.MismatchError{Field: "rows"}), Failure{
			Kind: KindState, Text: "shuffle: state does not fit: rule is a in the state and b here\n" + (&shuffle.MismatchError{Field: "rows"}).Error() + "; " + ruleHint,
			RowGroup: -1, Step: -1, Details: []string{},
		}},
		{"few rows", &shuffle.Error{Field: "tail"}, bare(KindValue, &shuffle.Error{Field: "tail"})},
		{"source without rows", &iterable.SourceError{Source: "web", Err: errors.New("x")}, bare(KindData, &iterable.SourceError{Source: "web", Err: errors.New("x")})},
		{"source that is nowhere", &iterable.SourceError{Source: "web", Err: fs.ErrNotExist}, bare(KindNotFound, &iterable.SourceError{Source: "web", Err: fs.ErrNotExist})},
		{"no file", fs.ErrNotExist, bare(KindNotFound, fs.ErrNotExist)},
		{"full", syscall.ENOSPC, bare(KindStorage, syscall.ENOSPC)},
		{"passing", shard.ErrTransient, bare(KindStorage, shard.ErrTransient)},
		{"address", shard.ErrBadURI, bare(KindValue, shard.ErrBadURI)},
		{"no plan", &iterable.PlanError{Name: "p", Err: errors.New("x")}, bare(KindValue, &iterable.PlanError{Name: "p", Err: errors.New("x")})},
		{"protocol", ProtocolError("x"), bare(KindProtocol, ProtocolError("x"))},
		{"no greeting", NewFailure(KindLate, "x"), bare(KindLate, NewFailure(KindLate, "x"))},
		{"the end", ErrEnds, bare(KindGone, ErrEnds)},
		{"deadline", context.DeadlineExceeded, bare(KindTimeout, context.DeadlineExceeded)},
		{"panic", &iterable.PanicError{Value: 1}, bare(KindInternal, &iterable.PanicError{Value: 1})},
		{"panic about memory", &iterable.PanicError{Value: &mem.OverLimit{}}, bare(KindInternal, &iterable.PanicError{Value: &mem.OverLimit{}})},
		{"encrypted", &rowgroup.Error{Op: "footer", URI: "f", RowGroup: -1, Page: -1, Err: rowgroup.ErrEncrypted}, Failure{
			Kind: KindData, Text: (&rowgroup.Error{Op: "footer", URI: "f", RowGroup: -1, Page: -1, Err: rowgroup.ErrEncrypted}).Error(), Op: "footer", Shard: "f",
			RowGroup: -1, Step: -1, Details: []string{},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := FailureOf(c.err); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}
