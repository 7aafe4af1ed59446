# meterdp: `make study` runs the main job, `make test` runs the tests; each installs what it needs first, and no more.
#   make study EXPORT=my_export.csv.gz CONFIG=my.yaml    a study of your own export
#   make check EXPORT=my_export.csv.gz                   what an export contains, what looks wrong, and a configuration
#   make release                                         the files to publish (needs a list of meters and a period)
#   make audit                                           lower bounds on epsilon from attacks, beside the claims
#   make report                                          Snakemake's own report of the same study
#   make coverage                                        the tests, and how many lines they run
#   make docs                                            the documentation as a site in build/site
#   make dist                                            wheel and sdist in dist/
SHELL := /bin/bash
VENV ?= .venv
CORES ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
EXPORT ?=
CONFIG ?=
RESULTS ?=
PYTEST_ARGS ?=

# What a user names reaches a recipe through the environment alone, as it is: neither make nor a shell runs what is in it.
override EXPORT := $(value EXPORT)
override CONFIG := $(value CONFIG)
override RESULTS := $(value RESULTS)
export EXPORT CONFIG RESULTS

# Python keeps what it compiled: otherwise every job of a study and every call in the tests compiles 8 s of imports again.
unexport PYTHONDONTWRITEBYTECODE

BIN := $(abspath $(VENV))/bin
INSTALLED := $(VENV)/.installed
# Packages only benchmarks compare with, each in its own environment: they need other versions, and than each other.
PEERS := $(addprefix $(VENV)-,benchmark opendp dpmm)
# The same, with PyTorch: 3 GB on Linux, so that `make neural` asks for it. A build of the same version for processors
# alone may be put into the environment instead.
NEURAL := $(VENV)-opensynth
# The tools that `meterdp release convert` writes files for: tests load the files with them where they are installed.
TOOLS := $(VENV)-tools
SCHEMA := workflow/schemas/config.schema.yaml
SNAKEMAKE := METERDP_BY_MAKE=1 PATH="$(BIN):$$PATH" snakemake --cores $(CORES) --rerun-incomplete \
	$${CONFIG:+--configfile="$$CONFIG"} "$${overrides[@]}"
# Checks the configuration, too: one sentence instead of a stack trace when a file is missing or is not YAML. One
# --config for both overrides, because a second one would replace the first; both are texts of YAML.
FIND_RESULTS := results="$$($(BIN)/python tools/setting.py $(SCHEMA) results_dir config/config.yaml \
	$${CONFIG:+"$$CONFIG"})" || exit 1; results="$${RESULTS:-$$results}"; \
	text() { local text="$${1//\\/\\\\}"; printf '"%s"' "$${text//\"/\\\"}"; }; overrides=(); \
	[ -z "$$EXPORT" ] || overrides+=("export={\"path\": $$(text "$$EXPORT")}"); \
	[ -z "$$RESULTS" ] || overrides+=("results_dir=$$(text "$$RESULTS")"); \
	[ $${\#overrides[@]} = 0 ] || overrides=(--config "$${overrides[@]}")
# Settings that do not describe the export are refused here, in seconds and with settings that do.
CHECK = $(BIN)/meterdp check --config config/config.yaml $${CONFIG:+--config="$$CONFIG"} \
	--unless-read "$$results/private/ingest_report.parquet" $${EXPORT:+-- "$$EXPORT"} || exit 1
# Everything a release would be refused for by public settings and the ledger, at once and before anything is read.
RELEASE_CHECK = $(BIN)/meterdp release check --config config/config.yaml $${CONFIG:+--config="$$CONFIG"} \
	$${EXPORT:+-- "$$EXPORT"} || exit 1
# A killed run leaves Snakemake's lock behind. The outer lock is held by a run and everything it started, so whoever
# gets it knows that no other run is here and may clear the stale one.
GUARD = mkdir -p .snakemake; exec 9>.snakemake/make.lock; \
	if command -v flock >/dev/null; then \
		flock -n 9 || { echo "Another run of this checkout is still working, whatever its results folder; wait for it or stop it."; exit 1; }; \
		if ls .snakemake/locks/* >/dev/null 2>&1; then $(SNAKEMAKE) --unlock >/dev/null 2>&1 || true; fi; \
	fi

# make hands SIGTERM to the shell of a recipe, which would leave Snakemake running; so the shell waits in the background
# and hands it on. workflow/Snakefile then ends the run within ten seconds.
RUN = $(SNAKEMAKE) -- $(1) & run=$$!; trap 'kill -TERM $$run 2>/dev/null' TERM INT HUP; \
	wait $$run; status=$$?; while kill -0 $$run 2>/dev/null; do wait $$run; status=$$?; done; \
	trap - TERM INT HUP; [ $$status = 0 ] || exit $$status

.PHONY: study check release audit report test coverage slurm test-slurm lint docs benchmark neural tools lock dist install dev clean

study: install
	@$(FIND_RESULTS); $(CHECK); $(GUARD); $(call RUN,study); echo; echo "The report is at $$results/study/report.html"

# What the export contains, what looks wrong and a configuration to paste; with CONFIG, whether that fits.
check: install
	@$(BIN)/meterdp check $${CONFIG:+--config config/config.yaml --config="$$CONFIG"} $${EXPORT:+-- "$$EXPORT"}

# The files to publish, through policy and ledger.
release: install
	@$(RELEASE_CHECK); export METERDP_PLAN_SAID=1; $(FIND_RESULTS); $(GUARD); $(call RUN,release); echo; \
		echo "The released files are in $$results/release"; \
		echo "What was charged and what is left: $$results/private/release/ledger.html"

# What attacks find on every mechanism, on broken ones and on the published ones.
audit: install
	@$(FIND_RESULTS); $(GUARD); $(call RUN,audit); echo; echo "The report is at $$results/audit/report.html"

report: study
	@$(FIND_RESULTS); $(GUARD); $(SNAKEMAKE) --report "$$results/study/snakemake-report.html" -- study && \
		echo && echo "Snakemake's report is at $$results/study/snakemake-report.html"

# One process more than cores: some tests wait for the processes they start.
test: dev
	PATH="$(BIN):$$PATH" pytest --numprocesses $$(($(CORES) + 1)) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

# The same tests, with the lines of src/ that their own processes run; not those of the jobs a study starts.
coverage: dev
	PATH="$(BIN):$$PATH" pytest --numprocesses $$(($(CORES) + 1)) --dist loadfile --no-loadscope-reorder --cov \
		--cov-report=html $(PYTEST_ARGS) && echo && $(BIN)/coverage report --skip-covered --sort=cover && \
		echo "Line by line: build/coverage/index.html"

# Snakemake looks for its executors in its own environment. Not part of it for everybody, as it slows every start.
slurm: $(VENV)/.installed-slurm

# On a Slurm of this machine alone, for as long as the tests take; needs root and the Debian packages slurm-wlm and munge.
test-slurm: slurm dev
	PATH="$(BIN):$$PATH" pytest -rs tests/slurm $(PYTEST_ARGS)

# With the figures of what is in the results folder, if their households are simulated, and with notebooks that are
# run; METERDP_NOTEBOOKS=off leaves their results out. Made again as a whole, so that
# nothing of an earlier one stays.
docs: dev tools
	@$(FIND_RESULTS); rm -rf build/site && METERDP_RESULTS="$$results" $(BIN)/sphinx-build --quiet --fail-on-warning \
		--fresh-env --conf-dir docs --doctree-dir build/doctrees . build/site && \
		echo "The documentation is at build/site/index.html"

# It replays what benchmarks/scale.py measured.
LAST := benchmarks/cluster.py
# Needs the folder of many homes that benchmarks/scale.py keeps on demand.
BY_HAND := benchmarks/size.py
benchmark: dev $(PEERS:=/.installed) $(TOOLS)/.installed
	@failed=""; for benchmark in $(filter-out $(LAST) $(BY_HAND),$(wildcard benchmarks/*.py)) $(LAST); do \
		PATH="$(BIN):$$PATH" python $$benchmark || failed="$$failed $$benchmark"; done; \
	if [ -n "$$failed" ]; then echo "These failed:$$failed"; exit 1; fi

neural: $(NEURAL)/.installed

tools: $(TOOLS)/.installed

lint: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	PATH="$(BIN):$$PATH" snakemake --lint

# Locked versions stay while they fit; `python tools/lock.py --upgrade` takes the newest.
lock: install
	$(BIN)/python tools/lock.py

# The wheel is built from the sdist, so that nothing of an earlier build is in it. Needs no network.
dist: install
	@rm -rf dist && $(BIN)/uv build --quiet --offline --no-build-isolation --python $(BIN)/python --out-dir dist . && ls dist

# What a study needs; and what tests, linters and the documentation need on top of it.
install: $(INSTALLED)
dev: $(VENV)/.installed-dev

$(INSTALLED): requirements.txt requirements/uv.txt pyproject.toml setup.py
	@python=""; for candidate in $(PYTHON) python3 python3.11 python3.12 python3.13 python3.14; do \
		if $$candidate -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			python=$$candidate; break; fi; done; \
	if [ -z "$$python" ]; then echo "meterdp needs Python 3.11 or newer with venv; name it: make study PYTHON=..."; exit 1; fi; \
	$$python -m venv --clear $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.installed-%: requirements/%.txt $(INSTALLED)
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --require-hashes -r $<
	@touch $@

# Without one of them the benchmark still runs, and its table says what did not. A lock is complete, so nothing is
# looked up again; what it leaves out on purpose (tools/lock.py) stays out.
$(VENV)-%/.installed: requirements/%.txt | install
	@rm -rf $(@D) && $(BIN)/python -m venv --without-pip $(@D) && \
		$(BIN)/uv pip install --quiet --python $(@D)/bin/python --no-deps --require-hashes -r $< && \
		touch $@ || { rm -rf $(@D); echo "The packages of $< could not be installed; what needs them will say so."; }

clean:
	rm -rf $(VENV) $(PEERS) $(NEURAL) $(TOOLS) .snakemake build dist
