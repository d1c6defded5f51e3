package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed/internal/table"
)

// Groups of flags, in the order of the help, which shows flags without a group under "Flags".
const (
	rowsGroup     = "Rows"
	packGroup     = "Packing"
	bucketGroup   = "Buckets"
	featuresGroup = "Features"
	sourcesGroup  = "Several sources"
	orderGroup    = "Order"
	storageGroup  = "Storage"
	cacheGroup    = "Cache (of remote data)"
)

const (
	groupKey  = "shardfeed_group" // annotation of a flag
	wordsKey  = "shardfeed_words" // annotation of a flag that takes one of a few words
	helpWidth = 100               // columns of the help
)

// usage prints how a command is used: its line, examples, verbs and flags by group.
func usage(c *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s [command]\n", c.CommandPath())
	} else {
		fmt.Fprintf(&b, "  %s\n", c.UseLine())
	}
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\nAvailable Commands:\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(&b, "  %s %s\n", table.Pad(sub.Name(), sub.NamePadding()), sub.Short)
			}
		}
	}
	usageOfFlags(&b, c.LocalFlags())
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUse \"%s [command] --help\" for more information about a command.\n", c.CommandPath())
	}
	_, err := io.WriteString(c.OutOrStderr(), b.String())
	return err
}

// usageOfFlags prints the flags of each group under its title.
func usageOfFlags(b *strings.Builder, all *pflag.FlagSet) {
	for _, title := range [...]string{"", rowsGroup, sourcesGroup, packGroup, bucketGroup, featuresGroup, orderGroup, storageGroup, cacheGroup} {
		own := pflag.NewFlagSet(title, pflag.ContinueOnError)
		own.SortFlags = false
		all.VisitAll(func(f *pflag.Flag) {
			if strings.Join(f.Annotations[groupKey], "") == title {
				own.AddFlag(f)
			}
		})
		if !own.HasAvailableFlags() {
			continue
		}
		if title == "" {
			title = "Flags"
		}
		fmt.Fprintf(b, "\n%s:\n%s", title, own.FlagUsagesWrapped(helpWidth))
	}
}
