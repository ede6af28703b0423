# Two commands: `make reproduce` and `make test`. Everything else is listed by `make help`.
#
# The first target that needs Python makes a virtual environment in .venv and installs into it. Targets are thin:
# what they call works by hand too, e.g. `.venv/bin/python -m experiments.run experiment=unbounded suite=embedded`.

SUITE   ?= embedded
RESULTS ?= results
SEEDS   ?=
JOBS    ?=
STUDY   ?= $(if $(filter embedded,$(SUITE)),embedded,paper)
VENV    ?= .venv
CONSTRAINTS ?=
PYTHON  ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
             $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

python    = $(VENV)/bin/python
reproduce = $(python) -m experiments.reproduce study=$(STUDY) suite=$(SUITE) results=$(RESULTS) \
            $(SEEDS:%=seeds=%) $(JOBS:%=n_jobs=%)
pytest    = $(python) -m pytest -n $(or $(JOBS),2)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help reproduce prepare run report figures readme status test test-all lint format docs soak bench bench-products \
        bench-memory clean

help: ## List the targets and variables
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
	@echo "with SUITE=$(SUITE) (embedded, paper, or a conf/suite of your own), RESULTS=$(RESULTS) (where all of it goes),"
	@echo "SEEDS=$(or $(SEEDS),<those of conf/study/$(STUDY).yaml>) and JOBS=$(or $(JOBS),<worker processes: all cores; 2 for tests>)"

reproduce: $(VENV)/.emt ## Prepare, run and report all studies; SUITE=paper for the paper, SEEDS=5 for a quick look
	$(reproduce)

prepare: $(VENV)/.emt ## Fetch and encode the datasets of SUITE (the only step that uses the network)
	$(reproduce) 'verbs=[prepare]'

run: $(VENV)/.emt ## Run the studies on what is prepared; goes on where it was stopped
	$(reproduce) 'verbs=[run]'

report: $(VENV)/.emt ## Write tables, figures and summaries of what has been run
	$(reproduce) 'verbs=[report]'

figures: report ## The same as report

readme: $(VENV)/.emt ## Write what the README and docs say of results from the tables in results/
	$(python) -m analysis.readme

status: $(VENV)/.emt ## Say what is prepared, done, failed and left, and how long the rest will take
	$(reproduce) 'verbs=[status]'

test: $(VENV)/.emt-dev ## Run the tests, but for the slow ones
	$(pytest) -m "not slow"

test-all: $(VENV)/.emt-dev ## Run all tests, the long comparisons with Vowpal Wabbit and coba included
	$(pytest)

lint: $(VENV)/.emt-dev ## Check style and types
	$(python) -m ruff check .
	$(python) -m ruff format --check .
	$(python) -m mypy

format: $(VENV)/.emt-dev ## Put the style right
	$(python) -m ruff check --fix .
	$(python) -m ruff format .

soak: $(VENV)/.emt-dev ## Attack all of it for minutes, KILLS=1000 for half an hour: kills, crafted files, a fuzz, bad learners
	$(python) tests/soak.py

docs: $(VENV)/.emt-dev ## Build the documentation into site/; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(python) -m mkdocs build --strict --quiet
	@echo site/index.html

bench: $(VENV)/.emt-dev ## Measure speed side by side with Vowpal Wabbit and coba
	$(python) -m benchmarks.bench_learners
	$(python) -m benchmarks.bench_scaling
	$(python) -m benchmarks.bench_runner

bench-products: ## Measure the ablation beside VW 9.8, which multiplies as many features; needs Python 3.10
	@echo "Installing into .venv-products: a minute, once"
	test -x .venv-products/bin/python || python3.10 -m venv .venv-products
	.venv-products/bin/python -m pip install --quiet --disable-pip-version-check \
	  numba pandas pyarrow scikit-learn vowpalwabbit==9.8.0
	.venv-products/bin/python -m benchmarks.bench_products

bench-memory: $(VENV)/.emt-dev ## Measure a tree beside other indices of nearest neighbours; needs a C++ compiler
	$(python) -m pip install --quiet --disable-pip-version-check -e '.[bench-memory]'
	$(python) -m benchmarks.bench_memory

clean: ## Remove the virtual environment, caches and builds; results and prepared datasets stay
	rm -rf $(VENV) .venv-products build dist site *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache .benchmarks
	find emt experiments analysis benchmarks tests -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer was found; name one: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.emt: pyproject.toml | $(VENV)/bin/python
	@echo "Installing into $(VENV), once: a minute or two"
	$(python) -m pip install --quiet --disable-pip-version-check $(CONSTRAINTS:%=-c %) -e '.[study]'
	@touch $@

$(VENV)/.emt-dev: pyproject.toml | $(VENV)/bin/python
	@echo "Installing into $(VENV), once: a minute or two"
	$(python) -m pip install --quiet --disable-pip-version-check $(CONSTRAINTS:%=-c %) -e '.[dev]'
	@touch $(VENV)/.emt $@
