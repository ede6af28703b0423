# Two commands: `make reproduce` and `make test`. Everything else is listed by `make help`.
#
# The first target that needs Python makes a virtual environment in .venv and installs into it. Targets are thin:
# what they call works by hand too, e.g. `.venv/bin/python -m experiments.run experiment=unbounded suite=embedded`.

SUITE   ?= embedded
RESULTS ?= results
VENV    ?= .venv
JOBS    ?= 2
PYTHON  ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
             $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

# What `reproduce` runs. The embedded suite's streams are short, so its budgets are, and 5 seeds keep it to minutes;
# other suites take the paper's studies and its 50 seeds.
ifeq ($(SUITE),embedded)
SEEDS   ?= 5
STUDIES ?= unbounded ablation bounded_small
else
SEEDS   ?= 50
STUDIES ?= unbounded ablation bounded
endif

# The bounded study needs long streams, which the paper's suite has a list of.
suite_of = $(if $(filter bounded-paper,$(1)-$(SUITE)),paper_long,$(SUITE))
python   = $(VENV)/bin/python
define newline


endef
# A verb on every study, one command a line; $(2) are more overrides.
each = $(foreach study,$(STUDIES),$(python) -m $(1) experiment=$(study) suite=$(call suite_of,$(study)) \
         seeds=$(SEEDS) results=$(RESULTS) $(2)$(newline))

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help reproduce prepare estimate run report figures status test test-all lint format bench clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
	@echo "Variables: SUITE=$(SUITE) SEEDS=$(SEEDS) STUDIES=\"$(STUDIES)\" RESULTS=$(RESULTS)"

reproduce: prepare estimate run report ## Prepare, run and report all studies; SUITE=paper for the paper, SEEDS=5 for a quick look
	@echo; echo "Done. Summaries with tables and figures beside them:"
	@$(foreach study,$(STUDIES),echo "  $(RESULTS)/$(study)/$(call suite_of,$(study))/summary.md";)

prepare: $(VENV)/.emt ## Fetch and encode the datasets of SUITE (the only step that uses the network)
	-$(python) -m experiments.prepare suite=$(SUITE)

estimate: prepare
	$(call each,experiments.status,missing=skip)

run: $(VENV)/.emt ## Run the studies on what is prepared; goes on where it was stopped
	$(call each,experiments.run,missing=skip)

report: $(VENV)/.emt ## Write tables, figures and summaries of what has been run
	$(call each,analysis.report)

figures: report ## The same as report

status: $(VENV)/.emt ## Say what is prepared, done, failed and left, and how long the rest will take
	$(call each,experiments.status)

test: $(VENV)/.emt-dev ## Run the tests, but for the slow ones
	$(python) -m pytest -n $(JOBS) -m "not slow"

test-all: $(VENV)/.emt-dev ## Run all tests, the long comparisons with Vowpal Wabbit and coba included
	$(python) -m pytest -n $(JOBS)

lint: $(VENV)/.emt-dev ## Check style and types
	$(python) -m ruff check .
	$(python) -m ruff format --check .
	$(python) -m mypy

format: $(VENV)/.emt-dev ## Put the style right
	$(python) -m ruff check --fix .
	$(python) -m ruff format .

bench: $(VENV)/.emt-dev ## Measure speed side by side with Vowpal Wabbit and coba
	$(python) -m benchmarks.bench_emt
	$(python) -m benchmarks.bench_scaling
	$(python) -m benchmarks.bench_runner

clean: ## Remove the virtual environment, caches and builds; results and prepared datasets stay
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache .benchmarks
	find emt experiments analysis benchmarks tests -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer was found; name one: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.emt: pyproject.toml | $(VENV)/bin/python
	$(python) -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.emt-dev: pyproject.toml | $(VENV)/bin/python
	$(python) -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(VENV)/.emt $@
