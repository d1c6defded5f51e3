package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/printable"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

// Exit codes.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // by SIGINT
	exitTerminated  = 143 // by SIGTERM
)

// An app is one run of the command.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	started        bool   // a verb began: errors before that are wrong usage
	saved          string // what an interrupted run has saved

	mu    sync.Mutex
	notes []string // said at the end, when all went well otherwise
}

// run executes the command line and returns the exit code. An error is one line on stderr.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	verb, err := root.ExecuteContextC(ctx)
	return a.finish(ctx, verb, err)
}

// finish reports the error and returns its exit code.
func (a *app) finish(ctx context.Context, verb *cobra.Command, err error) int {
	var wrong *usageError
	switch {
	case err == nil:
		for _, note := range a.notes {
			fmt.Fprintf(a.stderr, "shardfeed: note: %s\n", note)
		}
		return 0
	case errors.Is(err, syscall.EPIPE): // the reader of stdout has enough
		return 0
	case ctx.Err() != nil:
		return a.stopped(context.Cause(ctx))
	case errors.As(err, &wrong) || !a.started:
		fmt.Fprintf(a.stderr, "shardfeed: %s (see '%s --help')\n", oneLine(err.Error()), verb.CommandPath())
		return exitUsage
	}
	fmt.Fprintf(a.stderr, "shardfeed: %s\n", oneLine(option.Spelled(reason(err), option.Flag)))
	return exitFailed
}

// stopped reports the signal that ended the run, and what the run saved.
func (a *app) stopped(cause error) int {
	word, code := "interrupted", exitInterrupted
	if s := (signaled{}); errors.As(cause, &s) && s.Signal == syscall.SIGTERM {
		word, code = "terminated", exitTerminated
	}
	if a.saved != "" {
		word += "; " + oneLine(a.saved)
	}
	fmt.Fprintln(a.stderr, "shardfeed:", word)
	return code
}

// reason is the error that names the shard, when a loader failed to read one, or the one by which a
// device was lost.
func reason(err error) error {
	var l *loader.Error
	if errors.As(err, &l) && l.Op == "read" {
		return l.Err
	}
	return lost(err)
}

// lost reduces an error to the one by which a device was lost, without the errors of releasing its
// resources, which repeat it. Other errors stay as they are.
func lost(err error) error {
	var device interface{ Lost() bool }
	if !errors.As(err, &device) || !device.Lost() {
		return err
	}
	for {
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok {
			return err
		}
		first := joined.Unwrap()[0]
		if !strings.HasPrefix(err.Error()+"\n", first.Error()+"\n") { // a message of its own around several errors
			return err
		}
		err = first
	}
}

// print prints what a verb found: the object with --json, else the report.
func (a *app) print(f *flags, object any, r *term.Report) error {
	if f.json {
		return term.WriteJSON(a.stdout, object)
	}
	return r.Print(a.stdout)
}

// note keeps something unexpected that the user may want to know.
func (a *app) note(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.notes = append(a.notes, oneLine(fmt.Sprintf(format, args...)))
}

// noRows turns the error of a filter that keeps no row into a note: there is nothing to show, and
// nothing failed.
func (a *app) noRows(err error) error {
	if !errors.Is(err, iterable.ErrNoRow) {
		return err
	}
	a.note("no rows: %s", option.Spelled(err, option.Flag))
	return nil
}

// say prints a note at once, about a wait.
func (a *app) say(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprintln(a.stderr, "shardfeed: note: "+oneLine(fmt.Sprintf(format, args...)))
}

// A usageError is a command line that contradicts itself, found by a verb.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// oneLine joins the lines of a message and writes control characters as Go escapes them, so that
// nothing that a file's name or content holds breaks the line or moves the terminal's cursor.
// Spaces stay: names have them.
func oneLine(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		switch {
		case b.Len() == 0:
		case strings.HasSuffix(b.String(), "?"):
			b.WriteByte(' ')
		default:
			b.WriteString("; ")
		}
		b.WriteString(printable.Text(line))
	}
	return shorten(b.String(), maxMessage)
}

const maxMessage = 8 << 10 // bytes; what a file holds can be in a message

// shorten cuts a text that is longer than most bytes, and appends the number of bytes cut.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for !utf8.RuneStart(s[most]) {
		most--
	}
	return fmt.Sprintf("%s… (%d bytes more)", s[:most], len(s)-most)
}

// wrongFlag says in words what the flags' library says with the names of functions.
func wrongFlag(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		return unknownFlag(c.Flags(), unknown)
	}
	var value *pflag.InvalidValueError
	if !errors.As(err, &value) {
		return err
	}
	flag, cause := value.GetFlag(), errors.Unwrap(value)
	if !strings.HasPrefix(cause.Error(), "must be ") { // not one of ours
		cause = fmt.Errorf("must be %s, got %q", wanted(flag.Value.Type(), cause), value.GetValue())
	}
	return usagef("--%s %v", flag.Name, cause)
}

// unknownFlag names the flag that was probably meant.
func unknownFlag(fs *pflag.FlagSet, err *pflag.NotExistError) error {
	given := err.GetSpecifiedName()
	if len(given) < 2 {
		return err
	}
	like := option.Like(given, func(yield func(string) bool) {
		fs.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				yield(f.Name)
			}
		})
	})
	if len(like) == 0 {
		return err
	}
	return fmt.Errorf("%w; did you mean --%s?", err, like[0])
}

// wanted describes the values of the library's flags by type.
func wanted(kind string, err error) string {
	switch {
	case kind == "bool":
		return "true or false"
	case kind == "duration":
		return "a time, as in 500ms or 10s"
	case kind == "uint64":
		return "a whole number from 0 to 2^64 - 1"
	case errors.Is(err, strconv.ErrRange):
		return "a whole number of 64 bits"
	}
	return "a whole number"
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "shardfeed",
		Short: "Feed training from parquet: shuffled, resumable, inside a memory limit",
		Long: `shardfeed streams the rows of parquet shards to training: every row once an epoch, in an order
that depends on the seed alone, split over any number of ranks, resumable at any step, inside a
limit of memory.

Addresses are files, directories, globs (data/*.parquet), braces (part-{000..999}.parquet) and
list files (@list.txt), on this machine or on servers: s3://bucket/key, gs://bucket/key,
az://container/key, hdfs://nameservice/path, webhdfs://host:port/path, hf://datasets/org/name,
https://host/part.parquet. Tables are delta+ADDRESS, iceberg+ADDRESS, iceberg://catalog/db.table
and hive://host:port/db.table. Remote data is cached on this machine's disk.`,
		Example: `  shardfeed demo
  shardfeed inspect data/
  shardfeed plan data/ --shuffle --batch-size 256 --world-size 8
  shardfeed cat data/ --columns id,label --shuffle --seed 7 --limit 10
  shardfeed bench s3://bucket/table --shuffle --batch-size 1024
  shardfeed warm hdfs:///data/table --columns id,label`,
		Version:           version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
	}
	root.SetFlagErrorFunc(wrongFlag)
	root.SetVersionTemplate("shardfeed {{.Version}}\n")
	root.SetUsageFunc(usage)
	root.AddCommand(a.demo(), a.head(), a.sample(), a.schema(), a.countRows(), a.selectRows(), a.vocab(), a.tokenize(), a.inspect(), a.snapshots(), a.plan(), a.doctor(), a.cat(), a.bench(), a.gpu(), a.warm(), a.verify(), a.audit(), a.caches(), a.serve(), a.traces(), a.top(), a.page())
	strict(root)
	return root
}

// strict makes wrong usage of the library's own verbs, help and completion, an error.
func strict(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				if topic, _, err := root.Find(args); err != nil || topic == root && len(args) > 0 {
					return usagef("unknown help topic %q", args)
				}
				return nil
			}
		case "completion":
			c.RunE = func(*cobra.Command, []string) error {
				return usagef("completion needs a shell: bash, zsh, fish or powershell")
			}
		}
	}
}

// verb completes a subcommand that takes addresses.
func (a *app) verb(c *cobra.Command, do func(ctx context.Context, addresses []string) error) *cobra.Command {
	c.Args = func(_ *cobra.Command, args []string) error {
		if f := c.Flags().Lookup("sources"); f != nil && f.Changed {
			if len(args) > 0 {
				return usagef("--sources has the addresses, got %q as well: leave one out", args[0])
			}
			return nil
		}
		if len(args) == 0 {
			return usagef("%s needs an address: a file, a directory or a pattern", c.Name())
		}
		if slices.Contains(args, "") {
			return usagef("an address is empty")
		}
		return nil
	}
	return a.runs(c, do)
}

// runs completes a subcommand with what it does.
func (a *app) runs(c *cobra.Command, do func(ctx context.Context, args []string) error) *cobra.Command {
	c.DisableFlagsInUseLine = true
	c.Flags().SortFlags = false
	completeValues(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		a.started = true
		return do(c.Context(), args)
	}
	return c
}
