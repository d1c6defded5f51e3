package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/watch"
)

// A model is the live frame: the last view and how far it is scrolled.
type model struct {
	ctx     context.Context
	watcher *watch.Watcher
	every   time.Duration
	frame   Frame
	height  int
	view    watch.View
	skipped int // lines at the top
}

// Run shows the engines in a terminal until a key or ctx ends it.
func Run(ctx context.Context, in io.Reader, out io.Writer, w *watch.Watcher, every time.Duration, ascii bool) error {
	m := &model{ctx: ctx, watcher: w, every: every, frame: Frame{Width: 80, ASCII: ascii}, height: 24}
	m.view = w.Look(ctx)
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler()).Run()
	if errors.Is(err, tea.ErrInterrupted) || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Init starts to look.
func (m *model) Init() tea.Cmd { return m.look() }

// look looks at the engines after a pause.
func (m *model) look() tea.Cmd {
	return func() tea.Msg {
		select {
		case <-time.After(m.every):
		case <-m.ctx.Done():
		}
		return m.watcher.Look(m.ctx)
	}
}

// Update handles a view, a key or a change of the terminal's size.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case watch.View:
		m.view = msg
		return m, m.look()
	case tea.WindowSizeMsg:
		m.frame.Width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m, m.key(msg.String())
	}
	return m, nil
}

func (m *model) key(key string) tea.Cmd {
	page := max(1, m.height-2)
	switch key {
	case "q", "esc", "ctrl+c":
		return tea.Quit
	case "down", "j":
		m.skipped++
	case "up", "k":
		m.skipped--
	case "pgdown", "space":
		m.skipped += page
	case "pgup":
		m.skipped -= page
	case "home", "g":
		m.skipped = 0
	}
	return nil
}

// View draws the part of the frame that the terminal has room for.
func (m *model) View() tea.View {
	v := tea.NewView(strings.Join(m.visible(m.frame.Lines(m.view)), "\n"))
	v.AltScreen = true
	v.WindowTitle = "shardfeed top"
	return v
}

// visible returns the title, the lines below it that fit, and a last line with the keys.
func (m *model) visible(lines []string) []string {
	room := max(1, m.height-2)
	body := lines[1:]
	m.skipped = min(max(m.skipped, 0), max(0, len(body)-room))
	shown := body[m.skipped:min(len(body), m.skipped+room)]
	keys := "q quits"
	if left := len(body) - m.skipped - len(shown); left > 0 || m.skipped > 0 {
		keys += fmt.Sprintf(", arrows scroll: %d lines above, %d below", m.skipped, left)
	}
	all := append([]string{lines[0]}, shown...)
	for len(all) < m.height-1 {
		all = append(all, "")
	}
	return append(all, faint.Render(keys))
}
