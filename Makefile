# Every target does all of its own set-up; repeating that costs under a second. `make` alone lists the targets.
# make setup PYTHON=/path/to/python3 chooses the interpreter, JAVA_HOME the Java.

bin := .venv/bin
# Spark must start the Java that set-up found, also where JAVA_HOME or PATH lead to an older one.
# Its Python workers would otherwise run whatever python3 PATH has, without the locked packages.
with_spark = JAVA_HOME="$$(cat .venv/java-home)" PYSPARK_PYTHON="$(CURDIR)/$(bin)/python"

.PHONY: help setup demo test check lint docs drawings bench lock clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1	\2/p' Makefile | expand -t 16

setup: ## make .venv, install the locked packages, find or install Java 17+
	@scripts/setup.sh

demo: setup ## run ten windows over made-up sensors both ways on local Spark, into report/demo
	$(with_spark) $(bin)/muntin demo

test: setup ## run all tests, in two processes
	$(with_spark) $(bin)/python -m pytest -n 2 --dist loadfile

check: lint ## lint, check types, run the fast tests
	$(with_spark) $(bin)/python -m pytest -m "not slow"

lint: setup ## lint, check the format and the types
	$(bin)/ruff check
	$(bin)/ruff format --check
	$(bin)/mypy

docs: setup ## build the documents as a site, into site/; a link that leads nowhere is an error
	$(bin)/python -m scripts.site

drawings: setup ## draw the pictures of the documents anew, into docs/images/
	$(bin)/python -m scripts.drawings

bench: setup ## measure everything quickly (20 minutes) and lay it beside the papers, report/index.html
	$(with_spark) $(bin)/muntin bench all --quick --out report/

lock: ## write requirements.lock anew from pyproject.toml (LOCK=--upgrade: newest versions)
	@scripts/lock.sh $(LOCK)

clean: ## remove .venv, caches, builds and the site; report/ stays
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
