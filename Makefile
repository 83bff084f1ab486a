# The commands of the course. Each one installs what it needs, prints what it does, and repeats only what has changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
unexport PYTHONDONTWRITEBYTECODE # Python compiles modules when it imports them, because pip does not (below)

.DEFAULT_GOAL := help
.PHONY: help book site publish repository lab grade test test-all test-the-tests build format models release translations pins clean

help: ## List the commands
	@echo "QKV: self-attention you can touch"
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

book: $(VENV)/ready node_modules/ready ## Build the site (the first time 5 to 12 minutes), serve it, print its address (LANGUAGES="zh_TW": in Chinese, too)
	@$(BIN)/python tools/site.py serve $(IN_LANGUAGES)

# In which languages the site is built besides English: LANGUAGES="zh_TW zh_CN", or none. `make book` is quicker without.
IN_LANGUAGES = $(if $(LANGUAGES),--languages $(LANGUAGES))
site publish pdf: LANGUAGES ?= zh_TW zh_CN
LEFT_OUT = $(addprefix --without-,$(WITHOUT)) # WITHOUT="solutions page-python"
site: $(VENV)/ready node_modules/ready ## Build the site into _build/html (WITHOUT="solutions page-python": less of it)
	@$(BIN)/python tools/site.py build $(LEFT_OUT) $(IN_LANGUAGES)

export GITHUB_REPOSITORY ?= $(REPOSITORY)
publish: repository site ## Add the wheel to the site, write notebooks for Colab (REPOSITORY=OWNER/NAME; for a workflow)
	@rm -rf _build/colab
	@$(BIN)/python tools/publish.py wheel --out _build/html $(filter --without-solutions,$(LEFT_OUT))
	@$(BIN)/python tools/publish.py colab --out _build/colab

repository:
	@test -n "$(GITHUB_REPOSITORY)" || { echo "Say where it will be: make publish REPOSITORY=OWNER/NAME"; exit 1; }

pdf: site ## Print the whole book to _build/qkv.pdf
	@$(BIN)/python tools/system.py chromium
	@$(BIN)/python tools/pdf.py

AS_ROOT = $(if $(filter 0,$(shell id -u)),--allow-root) # without this option, JupyterLab refuses to run as root
lab: $(VENV)/ready ## Open the course in JupyterLab (LANGUAGE=zh_TW: in Chinese, in the folder zh_TW)
	@$(if $(LANGUAGE),$(BIN)/python -m tools.translations weave $(LANGUAGE) $(LANGUAGE))
	@$(if $(LANGUAGE),cd $(LANGUAGE) &&) $(abspath $(BIN))/jupyter lab $(AS_ROOT) --LabApp.default_url=/lab/tree/book/welcome.ipynb

test: $(VENV)/ready node_modules/ready ## Run every kind of test: the gate
	@$(BIN)/python tools/system.py chromium bubblewrap
	@$(BIN)/python tools/gate.py

test-all: $(VENV)/ready node_modules/ready ## Run the gate and the long sweeps
	@$(BIN)/python tools/system.py chromium bubblewrap
	@$(BIN)/python tools/system.py --if-possible firefox webkit
	@$(BIN)/python tools/gate.py --sweeps

test-the-tests: $(VENV)/ready node_modules/ready ## Break the code in a copy, in many ways, and check that a test fails each time
	@$(BIN)/python tools/system.py chromium bubblewrap
	@$(BIN)/python tools/breakages.py

grade: $(VENV)/ready ## Grade your own answers in exercises/ (or NOTEBOOKS=…)
	@$(BIN)/qkv grade $(or $(NOTEBOOKS),$(wildcard exercises/*.ipynb))

build: $(VENV)/ready node_modules/ready ## Compile the kernels, bundle the widgets' JavaScript (commit what it writes)
	@node kernels/build.mjs
	@node tools/bundle.mjs

format: $(VENV)/ready node_modules/ready ## Format Python, JavaScript and notebooks
	@$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format --quiet .
	@node_modules/.bin/biome check --write --log-level=warn .
	@$(BIN)/python tools/notebooks.py normalise

models: $(VENV)/ready ## Train the small models again (commit what it writes)
	@for model in tagger tagger-one-layer tagger-without-positions repeater repeater-one-layer writer; do \
	  $(BIN)/qkv train $$model --out src/qkv/models/weights || exit 1; done

release: $(VENV)/ready ## Generate exercises/ from solutions/
	@$(BIN)/qkv release

translations: $(VENV)/ready ## Write new and changed texts into translations/, and list what is to be translated
	@$(BIN)/python -m tools.translations update
	@$(BIN)/python -m tools.translations check

# uv finds releases that are compatible, for the oldest Python that the course supports. GPU packages are left out: pip
# installs them where torch requires them.
pins: ## Update requirements.txt and package.json to the newest releases of all packages
	@$(PYTHON) -m venv _build/uv && _build/uv/bin/pip install -qq uv
	@_build/uv/bin/uv pip compile -q --all-extras --upgrade --python-version 3.11 --no-annotate --no-header \
	  pyproject.toml --output-file _build/uv/pins.txt
	@(grep '^#' requirements.txt; grep -vE '^(cuda|nvidia|triton)' _build/uv/pins.txt) > _build/uv/requirements.txt
	@mv _build/uv/requirements.txt requirements.txt
	@npx --yes npm-check-updates --upgrade && npm install --package-lock-only --no-audit --no-fund
	@git diff --stat -- requirements.txt package.json

clean: ## Remove everything that was built (not the environments)
	rm -rf _build dist

# The two environments. The file `ready` in each is newer than the pins, and is missing if the installation is incomplete.
# Two pips at a time install the pinned packages; the last one adds packages that only this system needs, such as torch's
# libraries. --no-compile: Python compiles a module at its first import. pip would compile all modules, which takes as long
# as the rest of its work.
INSTALL := $(BIN)/pip install -qq --disable-pip-version-check --no-compile
$(VENV)/ready: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "QKV needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Python environment: installing requirements.txt into $(VENV) (once; 2 to 8 minutes)"
	@$(PYTHON) -m venv $(VENV) \
	  || { echo "Python has no venv module here. On Debian or Ubuntu: sudo apt-get install python3-venv"; exit 1; }
	@grep '==' requirements.txt | xargs -P 2 -n 64 $(INSTALL) --no-deps
	@$(INSTALL) -r requirements.txt
	@$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

node_modules/ready: package-lock.json
	@command -v npm >/dev/null \
	  || { echo "Node.js is missing: https://nodejs.org, or on Debian: sudo apt-get install nodejs npm"; exit 1; }
	@echo "JavaScript tools: npm install (once; a few seconds)"
	@npm install --no-save --silent --no-audit --no-fund
	@touch $@
