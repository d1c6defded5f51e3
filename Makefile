# make build       the programs into bin/
# make test        what CI runs, in stages with time budgets (2 cores)
# make test-full   make test and the long matrix: every file, thousands of corruptions, long Go tests, some fuzzing
# make lint        formatting, vet, staticcheck, ruff
# make bench       the table of speeds: rivals in the same run
# make fuzz        every fuzz target for FUZZTIME each
# make demo        the demo on the embedded shop
# make testdata    testdata/shop anew
# make cross       the value matrix: shardfeed cat against what other writers' files hold

FUZZTIME ?= 30s
CORRUPTIONS ?= 5000
SEED ?= 1
BENCH ?=

SHELL := bash
.SHELLFLAGS := -euo pipefail -c

.PHONY: build test test-full lint bench fuzz demo testdata cross test-go test-python cross-build cross-quick corrupt bench-smoke

build:
	go build ./...
	go build -o bin/ $$(go list -f '{{if eq .Name "main"}}{{.ImportPath}}{{end}}' ./...)

# Budgets in minutes, on two cores with empty caches.
test:
	tools/stage go 8 $(MAKE) --no-print-directory test-go
	tools/stage python 9 $(MAKE) --no-print-directory test-python

test-go: lint cross-build
	go test -count=1 ./internal/arch
	go test -race -timeout 7m ./...

# Linux on amd64 is what the tests run on; these two are built and vetted, tests included.
cross-build:
	@for platform in linux/arm64 darwin/arm64; do \
	  export CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/}; \
	  echo "== $$platform"; go build ./...; go vet ./...; \
	done

test-python: cross-quick corrupt

test-full: test
	go test -count=1 -timeout 60m ./...
	$(MAKE) cross
	$(MAKE) corrupt CORRUPTIONS=100000
	$(MAKE) bench-smoke
	$(MAKE) fuzz FUZZTIME=20s

lint:
	tools/lint

fuzz:
	tools/fuzz $(FUZZTIME)

demo:
	go run ./cmd/shardfeed demo

testdata:
	$$(tools/venv testdata/requirements.txt)/bin/python testdata/gen.py

cross: build
	$$(tools/venv testdata/requirements.txt)/bin/python testdata/matrix/run.py bin/shardfeed --full

cross-quick: build
	$$(tools/venv testdata/requirements.txt)/bin/python testdata/matrix/run.py bin/shardfeed

corrupt: build
	$$(tools/venv testdata/requirements.txt)/bin/python testdata/matrix/corrupt.py bin/shardfeed $(CORRUPTIONS) $(SEED)

bench: build
	$$(tools/venv bench/requirements.txt)/bin/python bench/run.py $(BENCH)

bench-smoke: build
	$$(tools/venv bench/requirements.txt)/bin/python bench/run.py --smoke $(BENCH)
