#!/usr/bin/env bash
# Set up all that muntin needs: a virtual environment, the locked packages, Java 17 or later. Cheap to repeat.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/apt.sh
. scripts/apt.sh

readonly venv=.venv
# Says what .venv was built from. Removed before .venv changes and written after, so that an interrupted
# set-up leaves none; an environment without one is built again from nothing.
readonly stamp=$venv/muntin-setup

# Two lines: the interpreter (a change rebuilds .venv), and what is installed (a change installs again).
# The directory counts because scripts in .venv hold absolute paths: a moved or copied .venv is rebuilt.
built_from() {
  "$1" -c '
import hashlib, os, sys
print(sys.implementation.name, sys.version.split()[0], sys.base_prefix, os.getcwd())
print(hashlib.sha256(b"".join(open(f, "rb").read() for f in sys.argv[1:])).hexdigest())
' requirements.lock pyproject.toml
}

# Its lines in the lock, as a range for sed: from the name to the first line that is not continued.
readonly pyspark='^pyspark==/,/[^\\]$'

pip_install() { $venv/bin/python -m pip --disable-pip-version-check --quiet install "$@"; }

if [ -z "${PYTHON:-}" ] && [ -f $stamp ] && $venv/bin/python -c '' 2>/dev/null; then
  python=$venv/bin/python # Whoever chose another Python once need not name it every time.
else
  python=$(scripts/find_python.sh)
fi
wanted=$(built_from "$python")
built=$(cat $stamp 2>/dev/null || true)

if [ "$built" != "$wanted" ] || ! [ -x $venv/bin/python ]; then
  rm -f $stamp
  if [ "${built%%$'\n'*}" != "${wanted%%$'\n'*}" ] || ! [ -x $venv/bin/python ]; then
    # The interpreter that stands in .venv cannot rebuild the ground it stands on.
    [ "$python" != $venv/bin/python ] || python=$(scripts/find_python.sh)
    wanted=$(built_from "$python")
    note "making $venv with $("$python" --version) ($python)"
    "$python" -m venv --clear $venv
  fi
  note "installing the packages of requirements.lock, checked by hash, into $venv"
  # Wheels only: building a source archive would fetch build tools that no hash in the lock vouches for.
  # pyspark alone is published as nothing but an archive, and waits until its locked build tool is there.
  sed "/$pyspark/d" requirements.lock | pip_install --require-hashes --only-binary :all: -r /dev/stdin ||
    die "the packages of requirements.lock could not be installed; pip says why above." \
      "Where it found no matching distribution, this Python or platform has no wheel for it:" \
      "try another Python (make setup PYTHON=/path/to/python3.12), or renew the lock (make lock)."
  note "installing pyspark: 456 MB to fetch and build the first time, from pip's cache after that"
  sed -n "/$pyspark/p" requirements.lock |
    pip_install --require-hashes --no-deps --no-build-isolation --use-pep517 -r /dev/stdin ||
    die "pyspark could not be installed; pip says why above." \
      "To build it takes 2.5 GB in ${TMPDIR:-/tmp} for a while: set TMPDIR to a directory with that much room."
  pip_install --no-index --no-deps --no-build-isolation -e .
  printf '%s\n' "$wanted" >$stamp.new
  mv $stamp.new $stamp
fi

# Looked for every time, because JAVA_HOME and PATH may change between two runs.
home=$(scripts/find_java.sh)
printf '%s\n' "$home" >$venv/java-home
note "ready: $($venv/bin/python --version), Java in $home"
