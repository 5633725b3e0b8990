# Two commands on a fresh machine with Python, make and git: `make check` and `make test`.
# Variables: ARGS (passed on), PYTHON (which interpreter .venv is made with), WORKERS (parallel tests).

WORKERS ?= 2
export PYTHON
RUN = .venv/bin/python

.PHONY: help check test lint types rules pages rules-wheel mutants tables matrix site benchmark benchmark-job constraints clean

help:  ## list what can be made
	@sed -n 's/^\([a-z-]*\): .*## /  make \1\t/p' Makefile | expand -t 22

check: run-environment  ## examine this machine: make check ARGS="--python /path/to/python -v"
	@.venv/bin/gpudoctor check $(ARGS); code=$$?; \
	 echo "gpudoctor check: exit code $$code" >&2; \
	 case $$code in 0|1|3) ;; *) exit $$code ;; esac  # a diagnosis (1: findings, 3: undecided) is no failure of make

test: test-environment  ## run all tests: make test ARGS="-k ldcache"
	@$(RUN) -m pytest -n $(WORKERS) --dist loadfile $(ARGS)

lint: test-environment  ## check style
	@$(RUN) -m ruff check .
	@$(RUN) -m isort --check-only --diff --quiet .

types: test-environment  ## check types
	@$(RUN) -m mypy

rules: run-environment  ## compile rules/ into rules/*.json
	@$(RUN) -m tools.compile_rules

# One process: several tests write the same page.
pages: test-environment  ## write anew what follows from rules and help texts: schemas, man page, goldens, examples, figure
	@$(RUN) -m tools.build_schemas
	@$(RUN) -m tools.build_man_page
	@$(RUN) -m tools.mutate_rules --write
	@$(RUN) -m tools.mutate_fixes --write
	@$(RUN) -m pytest -q --update-golden
	@git status --short  # what to look at before it is committed

rules-wheel: run-environment  ## build the data-only wheel gpudoctor-rules into dist/
	@$(RUN) -m tools.rules_wheel $(ARGS)

mutants: run-environment  ## change each condition and fix of the rules and count what their cases notice
	@$(RUN) -m tools.mutate_rules $(ARGS)
	@$(RUN) -m tools.mutate_fixes $(ARGS)

tables: test-environment  ## write the generated tables again from the published wheels
	@$(RUN) tools/update_tables.py $(ARGS)

matrix: test-environment  ## write docs/matrix again from the rules (minutes); ARGS=--check compares
	@$(RUN) -m tools.sweep $(ARGS)

site: test-environment  ## build the documentation site into site/; to search it: python3 -m http.server -d site
	@$(RUN) -m tools.site_pages
	@$(RUN) -m mkdocs build --strict  # not --quiet: it would not count warnings

benchmark: test-environment  ## measure the speed and hold it against what was committed and promised
	@$(RUN) -m benchmarks --check $(ARGS)

benchmark-job: test-environment  ## the part of it that needs no framework: some minutes
	@$(RUN) -m benchmarks --check own-libraries cuda-doctor folder distributions path explain $(ARGS)

constraints: test-environment  ## pin the newest versions of what development needs
	@UV_PYTHON_DOWNLOADS=never $(RUN) -m uv --quiet pip compile pyproject.toml --upgrade --universal --python-version 3.10 \
	 --extra docker --group dev --no-emit-index-url --no-header --no-annotate \
	 --output-file constraints/development.txt

clean:  ## remove .venv and the caches of tools
	@rm -rf .venv build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis

.PHONY: run-environment test-environment
run-environment:
	@sh tools/environment.sh run
test-environment:
	@sh tools/environment.sh test
