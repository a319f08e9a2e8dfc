# Two commands on a fresh machine with Python >= 3.11 and make: `make demo`, `make test`.

PYTHON ?= python3
TESTS ?=
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin

PYTEST = $(BIN)/python -m pytest -n $(JOBS) --dist worksteal
# beartype on every function of posewise
CHECKED := --jaxtyping-packages=posewise,typecheck.check

.PHONY: demo test test-all test-rest test-slow test-plain-jit lint docs release-check clean

demo: $(VENV)/.installed-plot
	$(BIN)/posewise demo --out out

# the core: a case of each test, in at most 5 minutes on two cores
test: $(VENV)/.installed-test
	$(PYTEST) -m core $(TESTS)

test-all: $(VENV)/.installed-test
	$(PYTEST) $(CHECKED) -m "not slow" $(TESTS)

test-rest: $(VENV)/.installed-test
	$(PYTEST) $(CHECKED) -m "not slow and not core" $(TESTS)

test-slow: $(VENV)/.installed-test
	$(PYTEST) $(CHECKED) $(TESTS)

# without posewise's work-arounds for XLA, by `jax.jit` alone
test-plain-jit: $(VENV)/.installed-test
	POSEWISE_PLAIN_JIT=1 $(PYTEST) $(CHECKED) -m "not slow" $(TESTS)

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --strict --follow-imports=silent tests/face/typing_smoke.py

docs: $(VENV)/.installed-docs
	$(BIN)/mkdocs build --strict

# wheel and sdist, and the wheel in fresh environments; RELEASE="--extras all" tries all
release-check: $(VENV)/.made
	$(BIN)/python tools/release_check.py $(RELEASE)

clean:
	rm -rf $(VENV) out site build/pictures build/test-programs

# each set of extras is installed once, and again when pyproject.toml changes
$(VENV)/.installed-%: pyproject.toml | $(VENV)/.made
	@if command -v uv >/dev/null 2>&1; then \
		uv pip install --quiet --python $(BIN)/python -e ".[$*]"; \
	else \
		$(BIN)/python -m pip install --quiet -e ".[$*]"; \
	fi
	@touch $@

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "posewise needs Python >= 3.11; say which: make PYTHON=python3.12"; exit 1; }
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --allow-existing --python $(PYTHON) $(VENV); \
	else \
		$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
			echo "cannot make a virtual environment; on Debian: apt install python3-venv"; exit 1; }; \
		$(BIN)/python -m pip install --quiet --upgrade pip; \
	fi
	@touch $@
