# Two targets are all that a newcomer needs: `make rehearse` and `make test`.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# One set of flags everywhere, so that all builds share one package cache.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath -buildvcs=false

BIN := .rehearsal/bin
COMMANDS := ./cmd/rehearse ./cmd/pulumi-language-go ./cmd/pulumi-resource-azure-native ./cmd/pulumi-resource-random
# RAY says which Ray a rehearsal has.
ifneq ($(filter-out real,$(RAY)),)
$(error RAY is "$(RAY)"; it may be real, or not set)
endif
REHEARSE = $(BIN)/rehearse -root .$(if $(filter real,$(RAY)), -ray $(call pyenv,models))

# The tests of the Python programs run in environments that are locked by hash,
# made once per lock and shared by clones. The one with the libraries of models
# has some 8 GB.
ENTRYPOINTS := workloads/entrypoints
PYENVS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ray-on-aks/python
pyenv = $(PYENVS)/$(shell sha256sum $(ENTRYPOINTS)/requirements-$(1).txt | cut -c1-12)

# timed NAME, COMMAND: runs the command and prints its seconds, also if it fails.
# bash -e alone would not do: it passes over a failure in the middle of a && list.
timed = start=$$(date +%s); status=0; { $(2); } || status=$$?; \
	echo "== $(1): $$(( $$(date +%s) - start )) s"; test $$status -eq 0

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | column -t -s "$$(printf '\t')"

.PHONY: rehearse
rehearse: build $(if $(filter real,$(RAY)),python-models-env) ## bring the program up on this machine and run its jobs; RAY=real: by a real Ray
	@$(REHEARSE) up

.PHONY: rehearse-status
rehearse-status: $(BIN)/rehearse ## show the jobs of the rehearsal that is up
	@$(REHEARSE) status

.PHONY: rehearse-down
rehearse-down: $(BIN)/rehearse ## end the rehearsal and remove all that it made
	@$(REHEARSE) down

# Only where it is missing: what is there can end what it started.
$(BIN)/rehearse:
	@mkdir -p $(BIN) && cd rehearsal && go build -o ../$(BIN)/ ./cmd/rehearse

# The outputs of STACK; those of the rehearsal lie in its own backend.
outputs = $(if $(filter rehearsal,$(STACK)),$(REHEARSE) pulumi stack output --json --show-secrets,\
	pulumi stack output --json --show-secrets --stack '$(or $(STACK),$(error STACK is not set, as in make wait STACK=dev JOB=smoke))')
DEADLINE ?= 4h

.PHONY: wait
wait: $(BIN)/wait ## wait for a job to end, at most DEADLINE: make wait STACK=... JOB=...
	@$(outputs) | $(BIN)/wait -job '$(JOB)' -deadline $(DEADLINE)

.PHONY: recover
recover: $(BIN)/recover ## mend a stack whose update was killed, so that pulumi up goes on: make recover STACK=... YES=1
	@$(BIN)/recover $(if $(YES),-yes) -stack '$(or $(STACK),$(error STACK is not set, as in make recover STACK=dev))'

.PHONY: $(BIN)/wait $(BIN)/comment $(BIN)/bench $(BIN)/recover
$(BIN)/wait $(BIN)/comment $(BIN)/bench $(BIN)/recover:
	@mkdir -p $(BIN) && cd rehearsal && go build -o ../$(BIN)/ ./cmd/$(@F)

# The comment of the last preview; what it says is also on the terminal.
COMMENT = .rehearsal/preview-$(or $(STACK),rehearsal).md
PREVIEWER = $(BIN)/rehearse -root . -stack $(or $(STACK),rehearsal) -dir .rehearsal/preview

.PHONY: preview
preview: $(BIN)/comment $(if $(BASE),build) ## write what an update of STACK would do as a comment for a pull request; BASE=REF: on emulated Azure, from that commit on
ifdef BASE
	@rm -rf .rehearsal/base && mkdir -p .rehearsal/base && git archive '$(BASE)' | tar -x -C .rehearsal/base
	@trap '$(PREVIEWER) down; rm -rf .rehearsal/base' EXIT; rm -f .rehearsal/preview.json $(COMMENT); status=0; \
		$(PREVIEWER) preview .rehearsal/base .rehearsal/preview.json || status=$$?; test -e .rehearsal/preview.json || exit $$status; \
		$(BIN)/comment -stack '$(or $(STACK),rehearsal)' -against '$(BASE)' < .rehearsal/preview.json | tee $(COMMENT) || status=$$?; \
		exit $$status
else
	@{ $(if $(filter rehearsal,$(STACK)),$(REHEARSE) pulumi preview --json,pulumi preview --json \
		--stack '$(or $(STACK),$(error STACK is not set, as in make preview STACK=dev))'); } | \
		$(BIN)/comment -stack '$(STACK)' | tee $(COMMENT)
endif

.PHONY: toolchain
toolchain: ## build the third-party tools of the rehearsal, once a version
	@$(call timed,toolchain,cd rehearsal && go run ./cmd/toolchain -root ..)

.PHONY: build
build: toolchain ## build the toolchain and the rehearsal's own commands
	@$(call timed,rehearsal commands,mkdir -p $(BIN) && cd rehearsal && go build -o ../$(BIN)/ $(COMMANDS))

.PHONY: test
test: installed lint unit python-models e2e e2e-real ## run all tests

# What is built takes the processor, and what is fetched the network.
.PHONY: installed
installed:
	@$(MAKE) --no-print-directory -j2 toolchain python-models-env

.PHONY: unit
unit: ## run the tests that need no cluster
	@$(call timed,unit tests,go test ./... && cd rehearsal && go test $$(go list ./... | grep -v /e2e))
	@$(call timed,race detector,cd rehearsal && CGO_ENABLED=1 go test -race ./cloud ./process ./layout)

.PHONY: lint
lint: $(BIN)/golangci-lint $(BIN)/actionlint python-env ## check format, vet and lint Go, lint Python and the workflows
	@$(call timed,gofmt,files=$$(gofmt -l .) && test -z "$$files" || { echo "not formatted: $$files" >&2; false; })
	@$(call timed,vet,go vet ./... && cd rehearsal && go vet ./...)
	@$(call timed,golangci-lint,$(BIN)/golangci-lint run ./... && cd rehearsal && ../$(BIN)/golangci-lint run ./...)
	@$(BIN)/actionlint
	@cd $(ENTRYPOINTS) && $(call pyenv,test)/bin/python -m ruff check . && $(call pyenv,test)/bin/python -m ruff format --check .

# Modules of their own: their packages are in no other build, and not all of them
# agree on versions. The first takes minutes once.
$(BIN)/golangci-lint: tools/golangci/go.mod tools/golangci/go.sum
	@$(call timed,build of golangci-lint,mkdir -p $(BIN) && cd tools/golangci && \
		go build -o ../../$(BIN)/ github.com/golangci/golangci-lint/v2/cmd/golangci-lint)

$(BIN)/actionlint: tools/actionlint/go.mod tools/actionlint/go.sum
	@mkdir -p $(BIN) && cd tools/actionlint && go build -o ../../$(BIN)/ github.com/rhysd/actionlint/cmd/actionlint

# pymake LOCK, INSTALLER: makes the environment of that lock, where it is missing.
pymake = test -e $(call pyenv,$(1))/complete && exit 0; $(call timed,Python environment of requirements-$(1),mkdir -p $(PYENVS) && \
	flock $(PYENVS)/.lock sh -c 'test -e $(call pyenv,$(1))/complete || { python3 -m venv --clear $(call pyenv,$(1)) && \
	$(2) --require-hashes -r $(ENTRYPOINTS)/requirements-$(1).txt && touch $(call pyenv,$(1))/complete; }')

.PHONY: python-env
python-env:
	@$(call pymake,test,$(call pyenv,test)/bin/python -m pip install -q)

# By uv, which the other environment has: pip takes half an hour for this one.
.PHONY: python-models-env
python-models-env: python-env
	@$(call pymake,models,$(call pyenv,test)/bin/uv pip install -q --no-cache --system-certs --python $(call pyenv,models)/bin/python)

.PHONY: python
python: python-env ## run the tests of the programs that Ray runs, without models
	@$(call timed,Python tests,cd $(ENTRYPOINTS) && $(call pyenv,test)/bin/python -m pytest -q --timeout 600)

# They take minutes: as with Go's, those that have passed are not run again while no file has changed.
passed = $(PYENVS)/passed-$(shell cd $(ENTRYPOINTS) && find . -name '*.py' -o -name '*.toml' -o -name 'requirements-*.txt' | \
	LC_ALL=C sort | xargs sha256sum | sha256sum | cut -c1-12)

.PHONY: python-models
python-models: python-models-env ## run all of them, on real Ray with tiny models; 8 GB, and long
	@test -e $(passed) && { echo "ok (cached): Python tests with models"; exit 0; }; \
		$(call timed,Python tests with models,cd $(ENTRYPOINTS) && $(call pyenv,models)/bin/python -m pytest -q --timeout 1400) && \
		touch $(passed)

.PHONY: bench
bench: build $(BIN)/bench ## measure what program and rehearsal cost: figures, no gate; ONLY=compile,rehearsal,engine,teams
	@$(BIN)/bench -root . $(if $(ONLY),-only '$(ONLY)')

.PHONY: bench-train
bench-train: python-models-env ## compare our training loop with the bare library's: figures, no gate
	@cd $(ENTRYPOINTS) && $(call pyenv,models)/bin/python tests/bench_train.py

.PHONY: e2e
e2e: build ## run the scenarios on the rehearsed cluster
	@$(call timed,earlier releases of the operators,cd rehearsal && go run ./cmd/toolchain -root .. -earlier)
	@$(call timed,end to end,cd rehearsal && go test -count=1 -timeout 45m -v ./e2e)

.PHONY: faults
faults: build ## inject FAULTS random faults (200), drawn from SEED (1), and compare with updates without one
	@$(call timed,faults,cd rehearsal && go test -count=1 -timeout 100m -v -run TestFaults ./e2e \
		-args -faults $(or $(FAULTS),200) -seed $(or $(SEED),1))

.PHONY: e2e-real
e2e-real: build python-models-env ## run the scenario in which Ray is real, too
	@$(call timed,end to end with a real Ray,cd rehearsal && \
		RAY_PYTHON=$(call pyenv,models) go test -count=1 -timeout 60m -v -run TestRealRay ./e2e)
