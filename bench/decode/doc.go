// Command decode measures how much processor time decoding takes, with one goroutine and the page
// cache warm:
//
//	decode --set DIR [--columns a,b] [--mode ours|ceiling|numbers] [--rounds N]
//
// Mode ours opens the shards below DIR and fetches and decodes every row group. Mode ceiling does
// what no reader can do without: it maps the same files, walks the page headers and decompresses
// each page with the same codecs into buffers that it keeps. Mode numbers decodes all units once,
// and measures requests of 256 random rows by number. Each round prints one JSON object.
package main
