package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/top"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/watch"
)

const (
	defaultEvery = time.Second
	leastEvery   = 100 * time.Millisecond
	onceColumns  = 120 // of a frame that is not for a terminal
)

type topCommand struct {
	sockets []string
	every   time.Duration
	once    bool
	json    bool
}

func (a *app) top() *cobra.Command {
	t := &topCommand{}
	c := &cobra.Command{
		Use:   "top [flags]",
		Short: "Show live what the engines of this user do: rows, waits by cause, memory, cache, requests",
		Long: `top shows the engines of this user on this machine and their loaders: rows and bytes per second, the
share of its time that each rank waits and for what, memory by purpose, the cache and requests to
stores. It changes nothing, and engines do not live longer because of it.

Engines are found by their sockets. Without an engine top says so, and shows the next one that
starts; --once then fails, and --json has an empty list.`,
		Example: `  shardfeed top
  shardfeed top --once
  shardfeed top --json --every 10s`,
		Args: cobra.NoArgs,
	}
	fs := c.Flags()
	fs.StringSliceVar(&t.sockets, "socket", nil, "only the engine at this `path`; may be repeated (default: all engines of this user)")
	fs.DurationVar(&t.every, "every", defaultEvery, "time between two looks, of which rates are the means")
	fs.BoolVar(&t.once, "once", false, "print one frame, after two looks, and exit; needs no terminal")
	fs.BoolVar(&t.json, "json", false, "print one JSON object after two looks, and nothing else")
	return a.runs(c, func(ctx context.Context, _ []string) error { return a.runTop(ctx, t) })
}

func (a *app) runTop(ctx context.Context, t *topCommand) error {
	if t.every < leastEvery {
		return usagef("--every must be at least %v, got %v", leastEvery, t.every)
	}
	w := watch.New(t.sockets...)
	if t.once || t.json {
		return a.topOnce(ctx, w, t)
	}
	if !term.IsTerminal(a.stdout) || !term.IsTerminal(a.stdin) {
		return usagef("top needs a terminal; --once prints one frame, and --json an object")
	}
	return top.Run(ctx, a.stdin, a.stdout, w, t.every, !speaksUTF8(os.Getenv))
}

// topOnce prints what the engines do between two looks.
func (a *app) topOnce(ctx context.Context, w *watch.Watcher, t *topCommand) error {
	if v := w.Look(ctx); len(v.Engines) > 0 {
		select {
		case <-time.After(t.every):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return a.showOnce(w.Look(ctx), t)
}

// showOnce prints a view. Without an engine that shows what it does a frame is an error.
func (a *app) showOnce(v watch.View, t *topCommand) error {
	switch {
	case t.json:
		return term.WriteJSON(a.stdout, v)
	case len(v.Engines) == 0:
		return errors.New(top.NoEngine)
	}
	f := top.Frame{Width: onceColumns, ASCII: !speaksUTF8(os.Getenv)}
	if term.IsTerminal(a.stdout) {
		f.Width = term.Columns(a.stdout)
	}
	if _, err := lipgloss.Fprintln(a.stdout, strings.Join(f.Lines(v), "\n")); err != nil {
		return err
	}
	for _, e := range v.Engines {
		if e.Now != nil {
			return nil
		}
	}
	return errors.New("no engine shows what it does")
}

// speaksUTF8 reports whether the terminal shows UTF-8: yes, unless the locale has another encoding.
func speaksUTF8(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(env(name)); locale != "" {
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return true
}
