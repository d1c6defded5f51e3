// Shardfeed feeds training from parquet: it lists shards, plans and shows the order of their rows,
// and measures how fast they come.
//
// Each verb has a file of its own: demo.go, inspect.go, plan.go, doctor.go, cat.go, bench.go,
// gpu.go, warm.go, audit.go, caches.go (cache and its verbs), serve.go (the engine behind Python;
// serve_host.go opens data for trainers). flags.go holds the flags that verbs share, and
// flag_table.go lists them; everything else is a noun that one or two verbs need. Output is for
// people, except the lines of cat and the objects of --json.
//
// Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted (SIGINT), 143 terminated (SIGTERM).
package main
