package wire

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// addressInText is an address within a sentence.
var addressInText = regexp.MustCompile("[A-Za-z][A-Za-z0-9+.-]*://[^\\s\"'`<>]+")

// Redact removes passwords and signatures from the addresses within a text, for logs and trainers.
func Redact(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return addressInText.ReplaceAllStringFunc(text, shard.Redact)
}

// redactAddress removes the secrets of a data set's address, which may hold any character.
func redactAddress(address string) string {
	if list, is := strings.CutPrefix(address, "@"); is {
		return "@" + shard.Redact(list)
	}
	return shard.Redact(address)
}

// RedactAddresses removes the secrets of a data set's addresses.
func RedactAddresses(addresses []string) []string { return RedactAll(addresses, redactAddress) }

func RedactAll(texts []string, one func(string) string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = one(text)
	}
	return all
}

// RedactAttr is for slog.HandlerOptions: a log without passwords and signatures of addresses.
func RedactAttr(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
		return slog.String(a.Key, Redact(a.Value.String()))
	case slog.KindAny:
		switch x := a.Value.Any().(type) {
		case nil:
		case []string:
			return slog.Any(a.Key, RedactAddresses(x))
		default:
			return slog.String(a.Key, Redact(fmt.Sprint(x)))
		}
	}
	return a
}
