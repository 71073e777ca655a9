"""Set-up on machines that differ: which Python, which Java, root or not, interrupted or not.

The scripts run for real, on a PATH that holds nothing but the tools they may use and the fakes of a test.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BASH = shutil.which("bash")
TOOLS = ("bash", "cat", "cp", "dirname", "env", "grep", "mkdir", "mv", "rm", "sed")
pytestmark = pytest.mark.skipif(BASH is None, reason="set-up is written for bash")


class Machine:
    """A PATH, an environment and a user id of the test's making."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.bin = directory / "bin"
        self.bin.mkdir(parents=True)
        self.jvms = directory / "jvms"
        self.env = {"PATH": str(self.bin), "HOME": str(directory), "MUNTIN_JVM_DIRS": str(self.jvms)}
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool) or pytest.fail(f"this machine has no {tool}"))
        self.user(1000)

    def user(self, uid: int) -> None:
        self.fake("id", f"echo {uid}")

    def fake(self, name: str | Path, body: str) -> Path:
        path = self.bin / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(f"#!{BASH}\n{body}\n")
        path.chmod(0o755)
        return path

    def java(self, version: str, home: Path, *, knows_home: bool = True) -> Path:
        """Put a java below `home` that prints what `java -XshowSettings:properties -version` prints."""
        properties = f"    java.home = {home}" if knows_home else ""
        banner = f'openjdk version "{version}" 2025-04-15\nOpenJDK Runtime Environment (build {version})'
        return self.fake(home / "bin" / "java", f"cat >&2 <<'END'\n{properties}\n{banner}\nEND")

    def run(self, script: str, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
        command = [str(BASH), str(root / "scripts" / script)]
        return subprocess.run(command, env=self.env, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


# --- Java ---


@pytest.mark.parametrize("version", ["17", "17.0.15", "17-ea", "21", "21.0.2", "25.0.1", "117"])
def test_java_17_or_later_on_path_is_taken(machine: Machine, version: str) -> None:
    home = machine.directory / "jdk"
    (machine.bin / "java").symlink_to(machine.java(version, home))
    done = machine.run("find_java.sh")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, str(home), "")


@pytest.mark.parametrize(
    ("version", "major"),
    [("1.8.0_392", "8"), ("1.7.0", "7"), ("9-internal", "9"), ("11.0.2", "11"), ("16", "16")],
)
def test_older_java_is_refused_by_its_version(machine: Machine, version: str, major: str) -> None:
    java = machine.java(version, machine.directory / "jdk")
    (machine.bin / "java").symlink_to(java)
    done = machine.run("find_java.sh")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"(found: Java {major} at {machine.bin}/java)" in done.stderr


def test_java_home_comes_before_path(machine: Machine) -> None:
    machine.java("17.0.15", machine.bin.parent)  # its java is bin/java: the one on PATH
    machine.java("21", machine.directory / "mine")
    machine.env["JAVA_HOME"] = str(machine.directory / "mine")
    assert machine.run("find_java.sh").stdout.strip() == machine.env["JAVA_HOME"]


def test_java_home_with_an_old_java_is_passed_over_aloud(machine: Machine) -> None:
    machine.java("17.0.15", machine.bin.parent)
    machine.java("1.8.0_392", machine.directory / "old")
    machine.env["JAVA_HOME"] = str(machine.directory / "old")
    done = machine.run("find_java.sh")
    assert done.stdout.strip() == str(machine.bin.parent)
    assert f"JAVA_HOME={machine.env['JAVA_HOME']} is not a Java >= 17; looking elsewhere" in done.stderr


@pytest.mark.parametrize("inside", ["", "Contents/Home"], ids=["linux", "macos"])
def test_java_is_found_in_the_usual_places(machine: Machine, inside: str) -> None:
    machine.java("11.0.2", machine.jvms / "a jdk 11" / inside)
    machine.java("17.0.15", machine.jvms / "b jdk 17" / inside)
    assert machine.run("find_java.sh").stdout.strip() == str(machine.jvms / "b jdk 17" / inside)


def test_java_that_does_not_tell_its_home_is_at_home_above_its_bin(machine: Machine) -> None:
    machine.java("21", machine.jvms / "jdk", knows_home=False)
    assert machine.run("find_java.sh").stdout.strip() == str((machine.jvms / "jdk").resolve())


def test_banner_after_picked_up_options_is_read(machine: Machine) -> None:
    body = """printf 'Picked up JAVA_TOOL_OPTIONS: -Xmx1g\\njava version "21.0.1" 2023-10-17 LTS\\n' >&2"""
    machine.fake(machine.jvms / "jdk" / "bin" / "java", body)
    assert machine.run("find_java.sh").returncode == 0


def test_java_stub_that_fails_counts_as_none(machine: Machine) -> None:
    machine.fake("java", """echo 'The operation could not be completed: version "17" not installed' >&2; exit 1""")
    done = machine.run("find_java.sh")
    assert done.returncode == 1
    assert "there is none here." in done.stderr


@pytest.mark.parametrize("has_apt", [True, False])
def test_without_root_the_message_says_what_to_run(machine: Machine, has_apt: bool) -> None:
    if has_apt:
        machine.fake("apt-get", "echo apt-get was called >&2; exit 99")
    done = machine.run("find_java.sh")
    assert done.returncode == 1
    assert "apt-get was called" not in done.stderr
    assert "Spark needs Java >= 17, and there is none here." in done.stderr
    for command in (
        "sudo apt-get install -y openjdk-17-jre-headless",
        "sudo dnf install -y java-21-openjdk-headless",
        "brew install openjdk@17",
        "set JAVA_HOME",
    ):
        assert command in done.stderr


@pytest.mark.parametrize("known", ["openjdk-17-jre-headless", "openjdk-21-jre-headless", "default-jre-headless"])
def test_root_gets_the_first_java_that_apt_knows(machine: Machine, known: str) -> None:
    machine.user(0)
    home = machine.jvms / "from-apt"
    machine.java("21", machine.directory / "archive")
    machine.fake("apt-cache", f'[ "$*" = "show {known}" ]')
    machine.fake(
        "apt-get",
        f"""echo "$DEBIAN_FRONTEND $*" >>{machine.directory}/apt.log
        [ "$1" != install ] || {{ mkdir -p {home} && cp -R {machine.directory}/archive/bin {home}; }}""",
    )
    done = machine.run("find_java.sh")
    assert done.returncode == 0, done.stderr
    assert (machine.directory / "apt.log").read_text().splitlines() == [
        "noninteractive update",
        f"noninteractive install -y --no-install-recommends {known}",
    ]


def test_root_sees_why_apt_failed_and_what_to_run(machine: Machine) -> None:
    machine.user(0)
    machine.fake("apt-cache", "exit 0")
    machine.fake("apt-get", "echo E: no network; exit 100")
    done = machine.run("find_java.sh")
    assert done.returncode == 1
    assert "E: no network" in done.stderr
    assert "apt-get install -y openjdk-17-jre-headless" in done.stderr


# --- Python ---

REAL = f'exec "{sys.executable}" "$@"'


def test_the_first_recent_python_is_taken(machine: Machine) -> None:
    machine.fake("python3", "exit 1")  # too old, or a shim of a version that is off
    machine.fake("python3.12", REAL)
    done = machine.run("find_python.sh")
    assert (done.returncode, done.stdout.strip()) == (0, sys.executable)


def test_a_version_below_3_11_is_refused(machine: Machine) -> None:
    # The real interpreter, made to believe that it is an older one.
    body = f"""shift; exec "{sys.executable}" -c "import sys; sys.version_info = (3, 10, 13); $1" """
    machine.fake("python3", body)
    assert machine.run("find_python.sh").returncode == 1
    machine.fake("python3", body.replace("(3, 10, 13)", "(3, 11, 0)"))
    assert machine.run("find_python.sh").returncode == 0


def test_a_python_override_that_does_not_work_is_named(machine: Machine) -> None:
    machine.fake("python3", REAL)
    machine.env["PYTHON"] = "/nowhere/python3"
    done = machine.run("find_python.sh")
    assert (done.returncode, done.stdout) == (1, "")
    assert "PYTHON=/nowhere/python3 is not a working Python >= 3.11." in done.stderr


def test_no_python_says_what_to_run(machine: Machine) -> None:
    done = machine.run("find_python.sh")
    assert done.returncode == 1
    assert "no Python >= 3.11 on PATH" in done.stderr
    assert "sudo apt-get install -y python3 python3-venv" in done.stderr


def test_python_without_ensurepip_names_debians_package(machine: Machine) -> None:
    # The fake names itself as `sys.executable`; otherwise the real interpreter would be asked instead of it.
    machine.fake("python3", f'case "$*" in *sys.executable*) echo "$0" ;; *ensurepip*) exit 1 ;; *) {REAL} ;; esac')
    done = machine.run("find_python.sh")
    assert done.returncode == 1
    assert "its ensurepip module is missing" in done.stderr
    assert "sudo apt-get install -y python{}.{}-venv".format(*sys.version_info[:2]) in done.stderr


def test_root_gets_ensurepip_from_apt(machine: Machine) -> None:
    machine.user(0)
    flag = machine.directory / "has-ensurepip"
    machine.fake(
        "python3",
        f"""case "$*" in
        *sys.executable*) echo "$0" ;;
        *ensurepip*) [ -e "{flag}" ] ;;
        *) {REAL} ;;
        esac""",
    )
    package = "python{}.{}-venv".format(*sys.version_info[:2])
    machine.fake("apt-cache", f'[ "$*" = "show {package}" ]')
    machine.fake("apt-get", f'[ "$1" = update ] || echo "$*" >"{flag}"')
    done = machine.run("find_python.sh")
    assert (done.returncode, done.stdout.strip()) == (0, f"{machine.bin}/python3")
    assert flag.read_text().split()[-1] == package


# --- The stamp ---


class Checkout:
    """A copy of what set-up reads, with a Python whose pip only writes down what it was asked."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.root = machine.directory / "checkout"
        (self.root / "scripts").mkdir(parents=True)
        for path in [*ROOT.glob("scripts/*.sh"), ROOT / "requirements.lock", ROOT / "pyproject.toml"]:
            shutil.copy(path, self.root / path.relative_to(ROOT))
        self.log = machine.directory / "python.log"
        self.asked = machine.directory / "pip.log"
        self.stamp = self.root / ".venv" / "muntin-setup"
        machine.java("17.0.15", machine.jvms / "jdk")
        self.python("python3")

    def python(self, name: str, base: str = "/usr") -> None:
        """Fake a Python installed below `base`; its pip fails while a file `pip-fails` exists."""
        self.machine.fake(
            name,
            f"""case "$*" in
            *sys.executable*) echo "$0" ;;
            "-m venv"*) echo venv >>{self.log}; rm -rf .venv; mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
            "-m pip"*) echo pip >>{self.log}
                 case "$*" in *" /dev/stdin"*) {{ echo "$*"; cat; }} >>{self.asked} ;; esac
                 [ ! -e {self.machine.directory}/pip-fails ] ;;
            -c*) code=$2; shift 2
                 code="import sys; sys.base_prefix = '{base}'; $code"
                 exec "{sys.executable}" -c "$code" "$@" ;;
            *) {REAL} ;;
            esac""",
        )

    def setup(self) -> tuple[int, list[str]]:
        """Set up, and return the exit status and what Python was asked to make or install."""
        self.log.write_text("")
        done = self.machine.run("setup.sh", self.root)
        return done.returncode, self.log.read_text().split()


@pytest.fixture
def checkout(machine: Machine) -> Checkout:
    return Checkout(machine)


Outcome = tuple[int, list[str]]
FROM_NOTHING: Outcome = (0, ["venv", "pip", "pip", "pip"])
IN_PLACE: Outcome = (0, ["pip", "pip", "pip"])
NOTHING: Outcome = (0, [])


def test_the_second_set_up_installs_nothing(checkout: Checkout) -> None:
    assert checkout.setup() == FROM_NOTHING
    assert checkout.setup() == NOTHING
    assert (checkout.root / ".venv/java-home").read_text().strip() == str(checkout.machine.jvms / "jdk")


def test_wheels_come_first_and_pyspark_alone_is_built(checkout: Checkout) -> None:
    checkout.setup()
    _, wheels, pyspark = re.split(r"^-m pip ", checkout.asked.read_text(), flags=re.MULTILINE)
    (wheels_options, wheels), (pyspark_options, pyspark) = (given.split("\n", 1) for given in (wheels, pyspark))
    assert "--require-hashes --only-binary :all:" in wheels_options
    assert "--require-hashes --no-deps --no-build-isolation" in pyspark_options
    assert re.fullmatch(r"pyspark==\S+ \\\n(    --hash=\S+ \\\n)*    --hash=\S+\n", pyspark)
    # Taking those lines out of the lock is all that the first step does to it.
    before, after = (checkout.root / "requirements.lock").read_text().split(pyspark)
    assert wheels == before + after


@pytest.mark.parametrize("name", ["requirements.lock", "pyproject.toml"])
def test_a_changed_input_installs_again(checkout: Checkout, name: str) -> None:
    checkout.setup()
    with (checkout.root / name).open("a") as file:
        file.write("# changed\n")
    assert checkout.setup() == IN_PLACE
    assert checkout.setup() == NOTHING


def test_a_failed_install_leaves_no_stamp_and_the_next_starts_from_nothing(checkout: Checkout) -> None:
    fails = checkout.machine.directory / "pip-fails"
    fails.touch()
    assert checkout.setup() == (1, ["venv", "pip"])
    assert not checkout.stamp.exists()
    fails.unlink()
    assert checkout.setup() == FROM_NOTHING


def test_a_failed_renewal_loses_the_old_stamp(checkout: Checkout) -> None:
    checkout.setup()
    (checkout.root / "pyproject.toml").write_text("")
    (checkout.machine.directory / "pip-fails").touch()
    assert checkout.setup() == (1, ["pip"])
    assert not checkout.stamp.exists()


def test_another_python_rebuilds_and_is_then_kept(checkout: Checkout) -> None:
    checkout.setup()
    checkout.python("other", base="/opt/other")
    checkout.machine.env["PYTHON"] = str(checkout.machine.bin / "other")
    assert checkout.setup() == FROM_NOTHING
    del checkout.machine.env["PYTHON"]
    assert checkout.setup() == NOTHING


def test_a_moved_checkout_rebuilds(checkout: Checkout) -> None:
    checkout.setup()
    checkout.root = checkout.root.rename(checkout.machine.directory / "moved")
    assert checkout.setup() == FROM_NOTHING


def test_a_vanished_python_rebuilds(checkout: Checkout) -> None:
    checkout.setup()
    (checkout.root / ".venv/bin/python").unlink()
    assert checkout.setup() == FROM_NOTHING


def test_missing_java_fails_but_keeps_the_packages(checkout: Checkout) -> None:
    jdk = checkout.machine.jvms / "jdk"
    jdk.rename(checkout.machine.directory / "away")
    assert checkout.setup() == (1, ["venv", "pip", "pip", "pip"])
    (checkout.machine.directory / "away").rename(jdk)
    assert checkout.setup() == NOTHING


# --- The scripts as files ---


@pytest.mark.parametrize("path", [*sorted(ROOT.glob("scripts/*.sh")), ROOT / ".ci/run"], ids=lambda path: path.name)
def test_scripts_parse_and_those_that_are_run_are_executable(path: Path) -> None:
    subprocess.run([str(BASH), "-n", str(path)], check=True)
    assert os.access(path, os.X_OK) == path.read_text().startswith("#!")
