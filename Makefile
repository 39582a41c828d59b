# Every target brings what it needs: Python 3.11 or newer and git are enough to begin with.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
CLUSTER := PYTHONPATH=tests/cluster $(BIN)/python -m testcluster

.DEFAULT_GOAL := help
.PHONY: help run test check bench golden format lock clean cluster cluster-down cluster-parts

help:  ## List the targets
	@grep -hE '^[a-z-]+%?:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z%-]+):.*## /  make \1\t/' | expand -t 24

run: $(READY) dvc-remote  ## Train, judge and publish the reference pipeline on this machine
	@$(BIN)/argosy run digits

test: check dvc-remote cluster-parts  ## Check, then run every test
	@$(BIN)/pytest -rs

check: $(READY)  ## Lint, types, layout: seconds
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/pytest -q tests/project

bench: $(READY) dvc-remote  ## Measure argosy side by side with its neighbours, into benchmarks/RESULTS.md
	@$(BIN)/python benchmarks/run.py

bench-%: $(READY) dvc-remote  ## Measure one benchmark, such as bench-startup
	@$(BIN)/python benchmarks/run.py $*

cluster: dvc-remote cluster-parts  ## Start a Kubernetes with Argo and argosy on this machine, and leave it running
	@$(CLUSTER) up

cluster-down: $(READY)  ## End what `make cluster` has started
	@$(CLUSTER) down

# Programs from Go modules, and images: nothing to do once they are there.
cluster-parts: $(READY)
	@test -e build/cluster/bin/kubelet || echo "the cluster's programs and images: half an hour and 20 GB, once"
	@$(CLUSTER) parts

golden: $(READY)  ## Write the committed manifests anew
	@ARGOSY_REGENERATE=1 $(BIN)/pytest -q tests/pipelines/test_golden_manifests.py

format: $(READY)  ## Put the code in order
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

clean:  ## Remove what the other targets made
	rm -rf .venv .dev .argosy dvc-remote data build .mypy_cache .pytest_cache .ruff_cache

# The pinned uv installs the lock; --no-deps keeps the project itself from adding to it.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "argosy needs Python 3.11 or newer; name one with PYTHON=" >&2; exit 1; }
	@echo "making .venv: some 150 packages, a minute or two the first time"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > .venv/uv.txt
	@$(BIN)/python -m pip --quiet --disable-pip-version-check install --require-hashes --requirement .venv/uv.txt
	@$(BIN)/uv pip sync --quiet --python $(BIN)/python --compile-bytecode --require-hashes requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	@mkdir -p .dev/argosy
	@ln -sfn ../../pipelines .dev/argosy/pipelines
	@ln -sfn ../../steps .dev/argosy/steps
	@touch $@

# The reference dataset, prepared and pushed to the folder that is the default DVC remote.
dvc-remote: dvc.yaml dvc.lock $(READY)
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/dvc repro --quiet
	@$(BIN)/dvc push --quiet
	@touch $@

lock: $(READY)  ## Pin the newest versions that pyproject.toml allows
	@$(BIN)/uv pip compile --quiet --upgrade pyproject.toml --all-extras --group dev --generate-hashes \
	  --no-emit-index-url --universal --python-version 3.11 --output-file requirements.lock
