# make demo          publish the sample site, and a repository beside it (SERVE=1: and serve them)
# make test          every test, lint, type and import check
# make test LONG=1   the long campaigns too
# make setup         the environment of the tests, in .venv
# make check         lint, types, contracts, and the tests of one folder (PACKAGE=publication/kinds; protocol by default)
# make coverage      every test again, with the lines traced that it runs: 98 %, with branches
# make bench         measure, and write docs/performance.md (CASE="writer build": some cases, without writing; WRITE=…: and write)
# make mutants       how many of a sample of faults in the code the tests notice (PACKAGE=…, COUNT=…, SEED=…)
# make faults        which of the faults chosen by hand the tests notice (NAMES='lease embargo': those named so)
# make bare          the wheel in environments of its own: without any extra, and with Pelican
# make peers         try programs of others from package registries, and write docs/interoperability.md
# make docs          build the documentation in build/docs, with its search (SERVE=1: and serve it)
# make pictures      take the pictures of the documentation again
# make lowest        the tests on the lowest versions of the dependencies
# make release-check all of a release but the upload: packages, their page, an environment for each extra, an SBOM
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := demo
PORT ?= 8000
# One more than cores: tests wait for databases and hosts a quarter of their time.
WORKERS ?= 3
EXTRAS := bridge,cloud,cluster,completion,mirror,mysql,patch,pelican,sign,table,text,wacz
DEMO_EXTRAS := bridge,pelican

# A new environment, and what is installed into it. Groups of dependencies need pip 25.1; Python 3.11 may bring pip 23.
PIP_INSTALL = bin/python -m pip install --quiet --disable-pip-version-check
environment = $(PYTHON) -m venv $(1) && $(1)/$(PIP_INSTALL) --upgrade 'pip>=25.1' && $(1)/$(PIP_INSTALL) $(2)

.PHONY: all setup demo test check coverage lint types imports compiled tests bench mutants faults peers docs pictures lowest bare release-check clean

all: test

setup: $(VENV)/installed

$(VENV)/installed: pyproject.toml
	$(call environment,$(VENV),--editable '.[$(EXTRAS)]' --group test --group docs)
	touch $@

# Types, and the environments of `bare`, are checked beside the tests: alone, each keeps a single core busy.
test: $(VENV)/installed
	$(MAKE) --jobs=2 lint types imports tests bare

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed
	$(BIN)/mypy

imports: $(VENV)/installed
	$(BIN)/lint-imports

# Tests start hundreds of processes, and let none of them write compiled modules. Pytest keeps what it makes of the
# tests' modules, also where the environment says that Python keeps none: else each of its workers would make it.
WITH_PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
compiled: $(VENV)/installed
	$(BIN)/python -m compileall -q pelican_resourcesync repo_bridge sample_site tests
	$(WITH_PYTEST) --collect-only -qq -n 0 tests >/dev/null || true  # the tests say what is wrong

PYTEST = $(WITH_PYTEST) -n $(WORKERS) --dist worksteal $(if $(LONG),--long)

tests: compiled
	$(PYTEST)

coverage: compiled
	$(PYTEST) --cov --cov-report=term-missing:skip-covered

check: lint types imports compiled
	$(PYTEST) $(addprefix tests/,$(or $(PACKAGE),protocol))

bench: compiled
	$(BIN)/python -m tests.tools.bench $(if $(CASE),$(CASE),--write $(WRITE))

PACKAGE ?=
COUNT ?= 300
SEED ?=
mutants: $(VENV)/installed
	$(BIN)/python -m tests.tools.mutants --count $(COUNT) $(addprefix --seed ,$(SEED)) $(PACKAGE)

faults: $(VENV)/installed
	$(BIN)/python -m tests.tools.mutants --by-hand $(NAMES)

# Programs of others that no test uses: they are tried as they are, with the dependencies that they want.
$(VENV)-peers/installed: pyproject.toml
	$(call environment,$(VENV)-peers,memento-client resync-simulator)
	touch $@

peers: compiled $(VENV)-peers/installed
	$(BIN)/python -m tests.tools.peers

# The demo's own environment has what a user's has: the package with the bridge, and Markdown; no tool of ours.
$(VENV)-demo/installed: pyproject.toml
	$(call environment,$(VENV)-demo,--editable '.[$(DEMO_EXTRAS)]' 'markdown>=3.7')
	touch $@

demo: $(VENV)-demo/installed
	$(VENV)-demo/bin/python -m sample_site.demo --port $(PORT) $(if $(SERVE),--serve) $(DEMO)

# The environment of the documentation has what builds a Pelican site with the plug-in, and the search.
$(VENV)-docs/installed: pyproject.toml
	$(call environment,$(VENV)-docs,--editable '.[pelican]' --group docs)
	touch $@

docs: $(VENV)-docs/installed
	SITEURL=http://localhost:$(PORT) $(VENV)-docs/bin/pelican --settings docs/site/pelicanconf.py
	@echo "Open build/docs/index.html, or serve it with its search: make docs SERVE=1"
	$(if $(SERVE),$(VENV)-docs/bin/python -m http.server --bind 127.0.0.1 --directory build/docs $(PORT))

pictures: $(VENV)-docs/installed
	$(VENV)-docs/bin/python docs/site/pictures.py

# The oldest versions that pyproject.toml allows, tested as installed. Pelican 4.11 reads no reStructuredText with docutils 0.22.
lowest:
	$(call environment,$(VENV)-lowest,--editable '.[$(EXTRAS)]' --group test)
	$(PYTHON) -c "import tomllib; project = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
	  every = sum(project['optional-dependencies'].values(), project['dependencies']); \
	  print('docutils<0.22', *[each.replace('>=', '==') for each in every if '>=' in each], sep='\n')" > $(VENV)-lowest/oldest.txt
	$(VENV)-lowest/$(PIP_INSTALL) --requirement $(VENV)-lowest/oldest.txt
	$(VENV)-lowest/bin/python -m pytest -n $(WORKERS) --dist worksteal

# The wheel in environments of its own, which the docs' commands make: without any extra, and with Pelican.
bare: compiled
	$(BIN)/python -m pytest tests/programs/bare.py

# Tools that build and describe packages; the script makes an environment for each extra itself.
$(VENV)-release/installed: pyproject.toml
	$(call environment,$(VENV)-release,--group release)
	touch $@

release-check: $(VENV)-release/installed
	$(VENV)-release/bin/python -m tests.tools.release build/release

clean:
	rm -rf $(VENV) $(VENV)-demo $(VENV)-docs $(VENV)-lowest $(VENV)-peers $(VENV)-release $(DEMO) build .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
