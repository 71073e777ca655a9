#!/usr/bin/env bash
# Print the path of a Python >= 3.11 that can make virtual environments: $PYTHON, or the first one on PATH.
set -euo pipefail
# shellcheck source=scripts/apt.sh
. "$(dirname "$0")/apt.sh"

readonly names="python3 python3.14 python3.13 python3.12 python3.11"

# A name on PATH proves nothing (pyenv leaves shims of versions that are off), so every candidate is run.
path_if_recent() {
  "$1" -c 'import sys; sys.version_info >= (3, 11) or sys.exit(1); print(sys.executable)' 2>/dev/null
}

version() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'; }

makes_venvs() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }

# Print the first recent Python that can make environments, else the first recent one, else nothing.
search() {
  local name path first=""
  for name in $names; do
    path=$(path_if_recent "$name") || continue
    if makes_venvs "$path"; then
      echo "$path"
      return
    fi
    first=${first:-$path}
  done
  echo "$first"
}

if [ -n "${PYTHON:-}" ]; then
  python=$(path_if_recent "$PYTHON") ||
    die "PYTHON=$PYTHON is not a working Python >= 3.11." \
      "Give the path of one (make setup PYTHON=/usr/bin/python3.12), or leave PYTHON unset to search PATH."
else
  python=$(search)
  if [ -z "$python" ] && may_apt; then
    apt_install python3-venv && python=$(search) # It brings python3 with it.
  fi
  [ -n "$python" ] ||
    die "no Python >= 3.11 on PATH (looked for: $names). Install one, then run make again:" \
      "  Debian, Ubuntu:  sudo apt-get install -y python3 python3-venv" \
      "  Fedora, RHEL:    sudo dnf install -y python3.12" \
      "  macOS:           brew install python@3.12" \
      "or name one that PATH does not show: make setup PYTHON=/path/to/python3"
fi

# Debian and Ubuntu keep ensurepip in a package of its own, and name it after the Python it belongs to.
if ! makes_venvs "$python"; then
  package="python$(version "$python")-venv"
  if may_apt; then
    apt_install "$package" python3-venv || true
  fi
  makes_venvs "$python" ||
    die "$python cannot make virtual environments: its ensurepip module is missing." \
      "Install it, then run make again:" \
      "  sudo apt-get install -y $package" \
      "or name another Python >= 3.11: make setup PYTHON=/path/to/python3"
fi

echo "$python"
