#!/usr/bin/env bash
# Write requirements.lock from pyproject.toml: names, versions and hashes for every platform and Python >= 3.11.
# Versions already locked stay where they still fit; `scripts/lock.sh --upgrade` takes the newest.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/apt.sh
. scripts/apt.sh

readonly venv=.venv lock=requirements.lock
new=$(mktemp)
trap 'rm -f "$new"' EXIT

# Not through set-up: a lock that no longer installs must still be replaceable.
[ -x $venv/bin/python ] || "$(scripts/find_python.sh)" -m venv $venv
if ! [ -x $venv/bin/uv ]; then
  note "installing uv into $venv"
  $venv/bin/python -m pip --disable-pip-version-check --quiet install 'uv>=0.9'
fi

oldest=$(sed -n 's/^requires-python = ">=\([0-9.]*\)"$/\1/p' pyproject.toml)
backend=$(sed -n 's/^requires = \["\([^"]*\)"\]$/\1/p' pyproject.toml)
[ -n "$oldest" ] && [ -n "$backend" ] ||
  die "the oldest Python or the build backend cannot be read from pyproject.toml." \
    'Keep a line  requires-python = ">=X.Y"  and a line  requires = ["one build backend"]  in it.'

# Builds run without isolation, so their backends are locked too: our own; `editables`, which hatchling asks for
# only when it makes an editable install; and setuptools, which builds pyspark (since 70.1 without `wheel`).
# Wheels only, but for pyspark: it has none, and tells its dependencies only to whoever builds it.
note "resolving pyproject.toml for Python >= $oldest (the first time it fetches pyspark, 456 MB)"
cp $lock "$new" 2>/dev/null || true
printf '%s\n' "$backend" 'editables~=0.3' 'setuptools>=70.1' |
  $venv/bin/uv pip compile --quiet --universal --python-version "$oldest" --extra spark --extra postgres \
    --group dev --group docs --only-binary :all: --no-binary pyspark --generate-hashes --no-annotate --no-header \
    --no-emit-index-url --no-emit-find-links --output-file "$new" "$@" pyproject.toml - >/dev/null

if grep -n '://' "$new" >&2; then
  die "the new lock holds addresses (above), so $lock is left as it was." \
    "A lock holds names, versions and hashes only: drop the direct references and index options it came from."
fi
{
  echo "# What 'make setup' installs, by name, version and hash. Written by 'make lock', never by hand."
  cat "$new"
} >"$new.headed"
mv "$new.headed" $lock
note "$lock: $(grep -c '^[a-z0-9]' $lock) packages"
