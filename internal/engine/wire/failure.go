package wire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Failure is an error of the engine.
type Failure struct {
	Kind     string   `json:"kind"` // see the Kind constants
	Text     string   `json:"text"` // whole, as the command would print it
	Op       string   `json:"op"`
	Shard    string   `json:"shard"`
	RowGroup int      `json:"row_group"` // or -1
	Column   string   `json:"column"`
	Hint     string   `json:"hint"`
	Step     int64    `json:"step"` // or -1
	Details  []string `json:"details"`
}

// Kinds of Failure: what Python raises. Values are part of the protocol.
const (
	KindValue    = "value"    // an option that is out of range: ValueError
	KindNotFound = "notfound" // FileNotFoundError
	KindAccess   = "access"   // PermissionError
	KindData     = "data"     // a shard that cannot be read or was changed: DataError
	KindSchema   = "schema"   // a column that is not there, shards that do not fit together: SchemaError
	KindMemory   = "memory"   // a stream that does not fit its memory: MemoryLimitError
	KindState    = "state"    // a state or plan that does not fit the data: StateError
	KindStorage  = "storage"  // a server or disk that failed: StorageError
	KindRanks    = "ranks"    // ranks that do not agree: RankMismatchError
	KindTimeout  = "timeout"  // TimeoutError
	KindProtocol = "protocol" // a breach of the protocol: ProtocolError
	KindGone     = "gone"     // the engine got the order to end: EngineGone
	KindLate     = "late"     // the trainer sent no HELLO in time: it may connect and greet again
	KindInternal = "internal" // a panic: EngineError
)

// Error makes a failure an error, as the trainer will print it.
func (f *Failure) Error() string {
	if f.Hint == "" || strings.Contains(f.Text, f.Hint) {
		return f.Text
	}
	return f.Text + " (" + f.Hint + ")"
}

func NewFailure(kind, format string, args ...any) *Failure {
	return &Failure{Kind: kind, Text: fmt.Sprintf(format, args...), RowGroup: -1, Step: -1}
}

// With adds what the user can do.
func (f *Failure) With(hint string) *Failure {
	f.Hint = hint
	return f
}

func ValueError(format string, args ...any) error { return NewFailure(KindValue, format, args...) }

func TimeoutError(format string, args ...any) error { return NewFailure(KindTimeout, format, args...) }

// Recovered makes an error of a panic. It is deferred.
func Recovered(log **slog.Logger, err *error) {
	if v := recover(); v != nil {
		(*log).Error("panic", "value", v, "stack", string(debug.Stack()))
		*err = NewFailure(KindInternal, "panic: %v", v)
	}
}

// FailureOf returns what a trainer gets to know of an error.
func FailureOf(err error) Failure {
	f := Failure{Kind: KindOf(err), Text: option.Spelled(reason(err), option.Argument), RowGroup: -1, Step: -1}
	var ready *Failure
	if !errors.As(err, &ready) {
		locate(&f, err)
	} else if f = *ready; f.Text != err.Error() && ready.Error() != err.Error() {
		f.Text = err.Error() // with the text around it
	}
	f.Text, f.Hint, f.Details = Redact(f.Text), Redact(f.Hint), RedactAll(f.Details, Redact) // never null in its JSON
	return f
}

// reason returns the error that names the shard, when a loader failed to read one.
func reason(err error) error {
	var l *loader.Error
	if errors.As(err, &l) && l.Op == "read" {
		return l.Err
	}
	return err
}

// locate fills in where an error happened. The innermost layer knows best.
func locate(f *Failure, err error) {
	var l *loader.Error
	if errors.As(err, &l) {
		f.Op, f.Column, f.Step = l.Op, l.Column, l.Step
	}
	var r *rowgroup.Error
	if errors.As(err, &r) {
		f.Op, f.Shard, f.RowGroup, f.Hint = r.Op, shard.Redact(r.URI), r.RowGroup, option.Spell(r.Hint, option.Argument)
		if r.Column != "" {
			f.Column = r.Column
		}
	}
	var s *shard.Error
	if errors.As(err, &s) {
		if f.Shard == "" {
			f.Op, f.Shard = s.Op, shard.Redact(s.URI)
		}
		if f.Hint == "" {
			f.Hint = option.Spell(s.Hint, option.Argument)
		}
	}
	var differs *shuffle.MismatchError
	if errors.As(err, &differs) && differs.Field == "rule" {
		f.Text += "; " + ruleHint
	}
	var m *iterable.ManifestError
	if errors.As(err, &m) {
		f.Details = m.Differences
	}
}

// ErrEnds ends iterations when the engine ends.
var ErrEnds = errors.New("the engine ends")

// ruleHint explains a state's rule.
const ruleHint = "the rule is what filters, parts, part, part_key, part_seed, subsample, rows, rows_new, weight, pack, bucket and tokenize say: give those of the run that saved the state"

// KindOf returns the kind of an error, which decides what Python raises.
func KindOf(err error) string {
	var (
		memory   *iterable.MemoryError
		batch    *loader.BatchMemoryError
		large    *iterable.TakeError
		number   *iterable.RowError
		over     *mem.OverLimit
		manifest *iterable.ManifestError
		mismatch *shuffle.MismatchError
		wrong    *shuffle.Error
		group    *rowgroup.Error
		store    *shard.Error
		slow     *loader.TimeoutError
		broke    *iterable.PanicError
		option   *iterable.OptionError
		plan     *iterable.PlanError
		found    *iterable.InventoryError
		source   *iterable.SourceError
		ready    *Failure
	)
	switch {
	case errors.As(err, &ready):
		return ready.Kind
	case errors.Is(err, ErrProtocol):
		return KindProtocol
	case errors.Is(err, ErrEnds):
		return KindGone
	case errors.As(err, &found) && found.Damaged:
		return KindData
	case errors.As(err, &found):
		return KindRanks
	case errors.As(err, &broke):
		return KindInternal
	case errors.As(err, &number):
		return KindValue
	case errors.As(err, &memory), errors.As(err, &batch), errors.As(err, &large), errors.As(err, &over):
		return KindMemory
	case errors.As(err, &manifest), errors.As(err, &mismatch):
		return KindState
	case errors.As(err, &wrong), errors.As(err, &option), errors.As(err, &plan), errors.Is(err, shard.ErrBadURI):
		return KindValue
	case errors.Is(err, shard.ErrDenied): // also where a file of credentials does not exist
		return KindAccess
	case errors.Is(err, shard.ErrNotExist), errors.Is(err, fs.ErrNotExist) && !errors.As(err, &store):
		return KindNotFound
	case errors.Is(err, fs.ErrPermission):
		return KindAccess
	case errors.Is(err, shard.ErrChanged), errors.Is(err, shard.ErrCorrupt), errors.Is(err, rowgroup.ErrNotParquet), errors.Is(err, rowgroup.ErrEncrypted):
		return KindData
	case errors.Is(err, rowgroup.ErrMissingColumn), errors.As(err, &group) && group.Op == "schema":
		return KindSchema
	case errors.As(err, &slow), errors.Is(err, context.DeadlineExceeded):
		return KindTimeout
	case errors.Is(err, shard.ErrTransient), errors.As(err, &store), isSystem(err):
		return KindStorage
	case errors.As(err, &group), errors.As(err, &source):
		return KindData
	}
	return KindInternal
}

// isSystem reports whether the system refused something, as it does when a disk is full.
func isSystem(err error) bool {
	var number syscall.Errno
	return errors.As(err, &number)
}
