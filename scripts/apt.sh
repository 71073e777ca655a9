# Sourced by its neighbours: how set-up speaks, and how it installs what only the system can provide.
# shellcheck shell=bash

# Notes go to stderr, so that `make demo | less` shows the plan alone.
note() { printf 'muntin: %s\n' "$*" >&2; }

die() {
  note "$1"
  shift
  printf '%s\n' "$@" >&2
  exit 1
}

may_apt() { [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; }

# Install the first of the named packages that this release of Debian or Ubuntu has.
apt_install() {
  local package
  note "apt-get update"
  # One unreachable source must not stop an install that the others can serve.
  quietly apt-get update || note "apt-get update failed; trying with the package lists at hand"
  for package in "$@"; do
    if apt-cache show "$package" >/dev/null 2>&1; then
      note "apt-get install $package"
      quietly apt-get install -y --no-install-recommends "$package"
      return
    fi
  done
  note "apt knows none of: $*"
  return 1
}

# Run a command and show what it printed only where it failed.
quietly() {
  local printed
  printed=$(DEBIAN_FRONTEND=noninteractive "$@" 2>&1) || {
    printf '%s\n' "$printed" >&2
    return 1
  }
}
