package engine

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// addressInText is an address within a sentence.
var addressInText = regexp.MustCompile("[A-Za-z][A-Za-z0-9+.-]*://[^\\s\"'`<>]+")

// redact is a text as logs and trainers may see it: its addresses without passwords and signatures.
func redact(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return addressInText.ReplaceAllStringFunc(text, shard.Redact)
}

// redactAddress is redact of an address of a data set, whose secret may hold any character.
func redactAddress(address string) string {
	if list, is := strings.CutPrefix(address, "@"); is {
		return "@" + shard.Redact(list)
	}
	return shard.Redact(address)
}

func redactAll(texts []string, one func(string) string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = one(text)
	}
	return all
}

// RedactLog returns a logger that writes no passwords and signatures of addresses.
func RedactLog(l *slog.Logger) *slog.Logger {
	if _, is := l.Handler().(redacting); is {
		return l
	}
	return slog.New(redacting{l.Handler()})
}

// redacting is a handler that hides secrets from the one that it wraps.
type redacting struct{ slog.Handler }

func (h redacting) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, redact(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(redactAttr(a))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

func (h redacting) WithAttrs(attrs []slog.Attr) slog.Handler {
	return redacting{h.Handler.WithAttrs(redactAttrs(attrs))}
}

func (h redacting) WithGroup(name string) slog.Handler { return redacting{h.Handler.WithGroup(name)} }

func redactAttrs(attrs []slog.Attr) []slog.Attr {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = redactAttr(a)
	}
	return clean
}

func redactAttr(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, redact(v.String()))
	case slog.KindGroup:
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(redactAttrs(v.Group())...)}
	case slog.KindAny:
		switch x := v.Any().(type) {
		case nil:
			return a
		case []string:
			return slog.Any(a.Key, redactAll(x, redactAddress))
		default:
			return slog.String(a.Key, redact(fmt.Sprint(x)))
		}
	}
	return a
}
