#!/usr/bin/env bash
# Print the home of a Java 17 or later, which Spark needs: JAVA_HOME, PATH, the usual places, then apt where root.
set -euo pipefail
# shellcheck source=scripts/apt.sh
. "$(dirname "$0")/apt.sh"

readonly least=17
# Where Linux distributions, macOS, Homebrew (Apple silicon, Intel) and SDKMAN keep their JVMs.
places=/usr/lib/jvm:/usr/lib64/jvm:/usr/java:/Library/Java/JavaVirtualMachines
places=$places:/opt/homebrew/opt:/usr/local/opt:${HOME:-/root}/.sdkman/candidates/java
readonly places=${MUNTIN_JVM_DIRS:-$places}

# Print "1.8.0_392" as 8, "17.0.15" as 17, "21" as 21, "25-ea" as 25.
major() {
  local version=${1#1.} # Before 9 Java put a 1 in front of its version.
  echo "${version%%[!0-9]*}"
}

# Set `home` where $1 is a working java >= $least; remember it in `too_old` where it is an older one.
consider() {
  local java=$1 printed version
  [ -x "$java" ] || return 1
  # macOS ships a /usr/bin/java that only says where to download one: it fails, and is passed over.
  printed=$("$java" -XshowSettings:properties -version 2>&1) || return 1
  version=$(sed -n '/version "[0-9]/{s/.*version "\([^"]*\)".*/\1/p;q;}' <<<"$printed")
  version=$(major "$version")
  [ -n "$version" ] || return 1
  if [ "$version" -lt "$least" ]; then
    too_old="$too_old${too_old:+, }Java $version at $java"
    return 1
  fi
  # PATH leads to a link or a launcher; only Java itself knows its home.
  home=$(sed -n 's/^ *java\.home = //p' <<<"$printed")
  [ -n "$home" ] || home=$(cd "$(dirname "$java")/.." && pwd -P)
}

search() {
  local java place places_list
  too_old=""
  if [ -n "${JAVA_HOME:-}" ]; then
    consider "$JAVA_HOME/bin/java" && return
    note "JAVA_HOME=$JAVA_HOME is not a Java >= $least; looking elsewhere"
  fi
  java=$(command -v java) && consider "$java" && return
  IFS=: read -r -a places_list <<<"$places"
  for place in "${places_list[@]}"; do
    for java in "$place"/*/bin/java "$place"/*/Contents/Home/bin/java; do
      consider "$java" && return
    done
  done
  return 1
}

if ! search; then
  if may_apt; then
    # Spark 4.3 runs on each of these. The newest Debian and Ubuntu have dropped 17, and older ones have no 25.
    apt_install "openjdk-$least-jre-headless" openjdk-21-jre-headless openjdk-25-jre-headless \
      default-jre-headless || true
  fi
  search 2>/dev/null ||
    die "Spark needs Java >= $least, and there is none here${too_old:+ (found: $too_old)}." \
      "Install it, then run make again:" \
      "  Debian, Ubuntu:  sudo apt-get install -y openjdk-17-jre-headless   (or openjdk-21-jre-headless)" \
      "  Fedora, RHEL:    sudo dnf install -y java-21-openjdk-headless   (or java-17-openjdk-headless)" \
      "  macOS:           brew install openjdk@17" \
      "A Java elsewhere: set JAVA_HOME to the directory that holds its bin/java."
fi
echo "$home"
