package top

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/watch"
	"github.com/shardfeed/shardfeed/internal/printable"
	"github.com/shardfeed/shardfeed/internal/text"
)

// NoEngine explains an empty view.
const NoEngine = "no engine of this user runs on this machine; one starts with the first data set that Python opens, or with shardfeed serve"

// A Frame draws views.
type Frame struct {
	Width int  // columns
	ASCII bool // no other characters, for terminals without UTF-8
}

var (
	bold  = lipgloss.NewStyle().Bold(true)
	faint = lipgloss.NewStyle().Faint(true)
	alarm = lipgloss.NewStyle().Foreground(lipgloss.Yellow).Bold(true)
	fill  = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
)

// Lines draws the engines of a view, each line at most Width columns wide.
func (f Frame) Lines(v watch.View) []string {
	lines := []string{f.title(v)}
	if len(v.Engines) == 0 {
		lines = append(lines, "", NoEngine)
	}
	for i := range v.Engines {
		lines = append(lines, "")
		lines = append(lines, f.engine(&v.Engines[i])...)
	}
	var all []string
	for _, line := range lines {
		if line == NoEngine {
			all = append(all, strings.Split(ansi.Wordwrap(line, f.Width, ""), "\n")...)
			continue
		}
		all = append(all, ansi.Truncate(line, f.Width, ""))
	}
	return all
}

func (f Frame) title(v watch.View) string {
	ranks := 0
	for _, e := range v.Engines {
		if e.Now != nil {
			ranks += len(e.Now.Sessions)
		}
	}
	return bold.Render("shardfeed top") + faint.Render(fmt.Sprintf("  %s  %s, %s", v.At.Format(time.TimeOnly), text.Plural(len(v.Engines), "engine"), text.Plural(ranks, "loader")))
}

// engine draws an engine.
func (f Frame) engine(e *watch.Engine) []string {
	if e.Now == nil {
		return []string{bold.Render("engine at " + printable.Text(e.Socket)), alarm.Render("  " + printable.Text(e.Error))}
	}
	lines := []string{f.heading(e)}
	for _, o := range e.Now.Openings {
		lines = append(lines, "  "+opening(o))
	}
	lines = append(lines, f.sessions(e)...)
	lines = append(lines, f.waits(e)...)
	lines = append(lines, f.memory(e)...)
	lines = append(lines, f.caches(e)...)
	return append(lines, f.stores(e)...)
}

func (f Frame) heading(e *watch.Engine) string {
	p := &e.Now.Engine
	build, _, _ := strings.Cut(p.Build, " (")
	facts := []string{printable.Text(build), "up " + (time.Duration(p.Seconds) * time.Second).String()}
	if e.Rates != nil {
		facts = append(facts, fmt.Sprintf("%.1f of %s", e.Rates.Processors, text.Plural(p.Processors, "processor")))
	}
	for _, job := range p.Jobs {
		if job != "" {
			facts = append(facts, printable.Text(job))
		}
	}
	if p.Metrics != "" {
		facts = append(facts, printable.Text(p.Metrics))
	}
	return bold.Render(fmt.Sprintf("engine %d", p.PID)) + faint.Render("  "+strings.Join(facts, "  "))
}

// bar draws a share as a bar of a number of columns.
func (f Frame) bar(share float64, columns int) string {
	share = min(max(share, 0), 1)
	if f.ASCII {
		n := int(share*float64(columns) + 0.5)
		return fill.Render(strings.Repeat("#", n)) + faint.Render(strings.Repeat(".", columns-n))
	}
	eighths := int(share*float64(columns)*8 + 0.5)
	whole, part := eighths/8, eighths%8
	bar := strings.Repeat("█", whole)
	if part > 0 {
		bar += string([]rune(" ▏▎▍▌▋▊▉")[part])
		whole++
	}
	return fill.Render(bar) + faint.Render(strings.Repeat("·", columns-whole))
}
