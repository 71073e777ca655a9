"""The control endpoint over a real socket: who may ask, what is refused and how. Only the manager is a stand-in."""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import os
import pty
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from muntin.cli import main
from muntin.errors import ManagerError
from muntin.manager.client import Client
from muntin.manager.control import Endpoint
from muntin.manager.control_file import NAME, VARIABLE, Control, read_control, write_control
from muntin.manager.guard import MOST_BYTES
from muntin.manager.request import RequestError, read_body, read_name, read_registration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from muntin.aggregate.algebra import Aggregate
    from muntin.window.spec import Window

LOAD = {"name": "load", "windows": ["5m", "1h/10m"], "aggregates": {"low": "min(temp)", "n": "count()"}}


class Said:
    """An answer of the stand-in's."""

    def __init__(self, **values: Any) -> None:
        self.values = values

    def to_dict(self) -> dict[str, Any]:
        return self.values

    def text(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.values.items())


class StandIn:
    """A manager without a stream: it keeps the queries in mind."""

    def __init__(self) -> None:
        self.queries: dict[str, str] = {}
        self.asked: list[tuple[str, Sequence[Window], Mapping[str, Aggregate]]] = []
        self.stopped = threading.Event()
        self.lock = threading.Lock()
        self.meeting: threading.Barrier | None = None

    def register(self, name: str, windows: Sequence[Window], aggregates: Mapping[str, Aggregate]) -> Said:
        if self.meeting is not None:
            self.meeting.wait(10)
        with self.lock:
            if name in self.queries:
                msg = f"there is a query {name!r} already"
                raise ManagerError(msg)
            self.asked.append((name, windows, aggregates))
        return self._become(name, "running", known=False)

    def suspend(self, name: str) -> Said:
        return self._become(name, "suspended")

    def resume(self, name: str) -> Said:
        return self._become(name, "running")

    def drop(self, name: str) -> Said:
        found = self._become(name, "dropped")
        del self.queries[name]
        return found

    def status(self) -> Said:
        return Said(state="running", queries=dict(self.queries))

    def explain(self) -> str:
        if "broken" in self.queries:
            message = "a defect with a secret"
            raise RuntimeError(message)
        return "one operator\nfor all"

    def stop(self) -> None:
        self.stopped.set()

    def _become(self, name: str, activity: str, *, known: bool = True) -> Said:
        if known and name not in self.queries:
            msg = f"there is no query {name!r}"
            raise ManagerError(msg)
        self.queries[name] = activity
        return Said(done=activity, name=name)


@pytest.fixture
def manager() -> StandIn:
    return StandIn()


@pytest.fixture
def endpoint(manager: StandIn, tmp_path: Path) -> Iterator[Endpoint]:
    with Endpoint(manager, tmp_path / "ck", seconds=1.0) as opened:
        yield opened


def ask(
    endpoint: Endpoint, method: str, path: str, body: object = None, **headers: str | None
) -> tuple[int, dict[str, Any], http.client.HTTPMessage]:
    """Send a request as the client does, with headers left out where they are None."""
    control = endpoint.control
    given: dict[str, str | None] = {"Authorization": f"Bearer {control.token}"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection = http.client.HTTPConnection(control.host, control.port, timeout=10)
    content = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
    try:
        connection.putrequest(method, path, skip_host="Host" in given, skip_accept_encoding=True)
        for name, value in given.items():
            if value is not None:
                connection.putheader(name, value)
        if content is not None and "Content-Length" not in given:
            connection.putheader("Content-Length", str(len(content)))
        connection.endheaders(content)
        response = connection.getresponse()
        return response.status, json.loads(response.read()), response.headers
    finally:
        connection.close()


def raw(endpoint: Endpoint, request: bytes, *, half_closed: bool = False) -> bytes:
    """Send bytes, whatever they are, and read until the other side closes."""
    with socket.create_connection((endpoint.control.host, endpoint.control.port), timeout=10) as connection:
        connection.sendall(request)
        if half_closed:
            connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def head(endpoint: Endpoint, line: str, *headers: str) -> bytes:
    control = endpoint.control
    own = [f"Host: {control.address}", f"Authorization: Bearer {control.token}"]
    return "\r\n".join([line, *own, *headers, "", ""]).encode()


# --- what is asked reaches the manager


def test_a_query_comes_waits_goes_on_and_goes(endpoint: Endpoint, manager: StandIn) -> None:
    client = Client(endpoint.control)
    windows: list[str | dict[str, str]] = ["5m", {"range": "1h", "slide": "10m", "offset": "5m", "id": "roll"}]
    done = client.register("load", windows, {"low": "min(temp)", "hot": "count(filter=temp > 30)"})
    assert done == {"done": "running", "name": "load"}
    ((name, found, aggregates),) = manager.asked
    assert name == "load"
    assert repr(found) == "(tumbling('5m'), hopping('1h', slide='10m', offset='5m', id='roll'))"
    assert repr(aggregates) == "{'low': min(temp), 'hot': count(filter=temp > 30)}"
    assert client.suspend("load")["done"] == "suspended"
    assert client.status() == {"state": "running", "queries": {"load": "suspended"}}
    assert client.resume("load")["done"] == "running"
    assert client.status(text=True) == "state=running queries={'load': 'running'}"
    assert client.explain() == "one operator\nfor all"
    assert client.drop("load", text=True) == "done=dropped name=load"
    assert client.status()["queries"] == {}


def test_a_stop_is_answered_before_it_is_done(endpoint: Endpoint, manager: StandIn) -> None:
    assert Client(endpoint.control).stop() == {"stopping": True}
    assert manager.stopped.wait(5)


def test_two_changes_at_once_are_both_answered(endpoint: Endpoint, manager: StandIn) -> None:
    manager.meeting = threading.Barrier(2)  # neither is answered before the other has come
    answers: list[Any] = []

    def change(name: str) -> None:
        answers.append(Client(endpoint.control).register(name, ["5m"], {"n": "count()"}))

    threads = [threading.Thread(target=change, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert {answer["name"] for answer in answers} == {"one", "two"} == set(manager.queries)


def test_a_client_that_says_nothing_holds_up_nobody(endpoint: Endpoint) -> None:
    with socket.create_connection((endpoint.control.host, endpoint.control.port)):
        assert Client(endpoint.control, seconds=5).status()["state"] == "running"


# --- who may ask


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Basic {token}",
        "{token}",
        "Bearer {token}x",
        "Bearer é",
        "bearer",
    ],
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/status"), ("POST", "/register"), ("GET", "/nowhere")])
def test_without_the_token_nothing_is_told(
    endpoint: Endpoint, manager: StandIn, authorization: str | None, method: str, path: str
) -> None:
    given = None if authorization is None else authorization.format(token=endpoint.control.token)
    status, said, headers = ask(endpoint, method, path, LOAD if method == "POST" else None, Authorization=given)
    assert status == 401
    assert headers["WWW-Authenticate"] == "Bearer"
    assert endpoint.control.token not in said["error"]
    assert manager.asked == []


@pytest.mark.parametrize(
    "host", [None, "", "example.org", "example.org:{port}", "127.0.0.1", "localhost:1", "evil:{port}"]
)
def test_a_page_whose_name_was_made_to_lead_here_is_refused(endpoint: Endpoint, host: str | None) -> None:
    given = None if host is None else host.format(port=endpoint.control.port)
    status, said, _ = ask(endpoint, "GET", "/status", Host=given)
    assert status == 421
    assert "this is another" in said["error"]


@pytest.mark.parametrize("host", ["localhost:{port}", "LocalHost:{port}", "127.0.0.1:{port}", "[::1]:{port}"])
def test_the_names_of_this_machine_are_let_in(endpoint: Endpoint, host: str) -> None:
    assert ask(endpoint, "GET", "/status", Host=host.format(port=endpoint.control.port))[0] == 200


def test_two_hosts_in_one_request_are_refused(endpoint: Endpoint) -> None:
    answer = raw(endpoint, head(endpoint, "GET /status HTTP/1.1", "Host: example.org"))
    assert b" 421 " in answer.split(b"\r\n")[0]


def test_a_host_that_others_reach_must_be_wanted(manager: StandIn, tmp_path: Path) -> None:
    with pytest.raises(ManagerError, match=r"0\.0\.0\.0 can be reached from other machines: .* pass --allow-remote"):
        Endpoint(manager, tmp_path, host="0.0.0.0")
    assert not (tmp_path / NAME).exists()
    with Endpoint(manager, tmp_path, host="0.0.0.0", allow_remote=True) as endpoint:
        assert endpoint.control.host == "127.0.0.1"
        port = endpoint.control.port
        for host, status in (("192.168.0.7", 200), (socket.gethostname(), 200), ("example.org", 421)):
            assert ask(endpoint, "GET", "/status", Host=f"{host}:{port}")[0] == status
        assert ask(endpoint, "GET", "/status", Host="192.168.0.7:1")[0] == 421


def test_no_other_origin_is_invited(endpoint: Endpoint) -> None:
    status, _, headers = ask(endpoint, "OPTIONS", "/register", Origin="https://example.org")
    assert status == 405
    assert not [name for name in headers if name.lower().startswith("access-control")]
    assert headers["Cache-Control"] == "no-store"
    assert "Python" not in headers["Server"]


# --- what is refused


def test_paths_and_methods(endpoint: Endpoint) -> None:
    status, said, _ = ask(endpoint, "GET", "/nowhere")
    assert (status, said["error"].split(".")[0]) == (404, "there is no /nowhere")
    for method, path, allowed in (
        ("GET", "/register", "POST"),
        ("POST", "/status", "GET"),
        ("DELETE", "/drop", "POST"),
    ):
        status, said, headers = ask(endpoint, method, path)
        assert (status, said["error"], headers["Allow"]) == (405, f"{path} takes {allowed}, got {method}", allowed)
    assert ask(endpoint, "BREW", "/status")[0] == 501


def test_what_the_manager_refuses_is_a_conflict_with_its_words(endpoint: Endpoint) -> None:
    status, said, _ = ask(endpoint, "POST", "/suspend", {"name": "nobody"})
    assert (status, said) == (409, {"error": "there is no query 'nobody'", "kind": "ManagerError"})
    ask(endpoint, "POST", "/register", LOAD)
    status, said, _ = ask(endpoint, "POST", "/register", LOAD)
    assert (status, said["error"]) == (409, "there is a query 'load' already")


def test_a_defect_is_logged_and_not_told(
    endpoint: Endpoint, manager: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    manager.queries["broken"] = "running"
    with caplog.at_level(logging.ERROR):
        status, said, _ = ask(endpoint, "GET", "/explain")
    assert status == 500
    assert "secret" not in json.dumps(said)
    assert "Traceback" not in json.dumps(said)
    assert "a defect with a secret" in caplog.text
    assert endpoint.control.token not in caplog.text
    # The endpoint goes on.
    assert ask(endpoint, "GET", "/status")[0] == 200


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "the request is no JSON: "),
        (b"{", "the request is no JSON: "),
        (b"\xff\xfe", "the request is no JSON: "),
        (b"garbage", "the request is no JSON: "),
        (b'{"name": NaN}', "the request is no JSON: it has NaN"),
        (b"[" * 100_000, "the request is no JSON: it is nested too deeply"),
        (b'{"name": "a", "name": "b"}', "'name' stands twice"),
        (b"[]", "the request must be a JSON object"),
        (b"null", 'the request must be a JSON object such as {"name": "load"}, got null'),
        (b"3", "got a number"),
        ({}, "windows is missing"),
        (LOAD | {"name": None}, 'name must be text such as "load", got null'),
        (LOAD | {"name": " "}, "name is empty"),
        (LOAD | {"agg": {}}, "the request has an unknown field 'agg'. Did you mean 'aggregates'?"),
        (LOAD | {"windows": "5m"}, 'windows must be a list such as ["5m", "1h/10m"], got text'),
        (LOAD | {"windows": []}, "windows is empty"),
        (LOAD | {"windows": ["5m", 5]}, 'windows[1] must be text such as "1h/10m" or an object with range, '),
        (LOAD | {"windows": ["5x"]}, "windows[0]: unknown unit 'x' in duration '5x'"),
        (LOAD | {"windows": ["5"]}, "windows[0]: '5' has no unit, and events have times. Write for example 5s or 5m"),
        (LOAD | {"windows": ["10m/20m"]}, "windows[0]: slide 20m is longer than range 10m"),
        (LOAD | {"windows": [{"slide": "1m"}]}, "windows[0] has no range"),
        (LOAD | {"windows": [{"range": 60}]}, 'windows[0].range must be text such as "1h", got a number'),
        (LOAD | {"windows": [{"range": "1h", "size": "1m"}]}, "windows[0] has an unknown field 'size'"),
        (LOAD | {"aggregates": ["min(temp)"]}, 'aggregates must be an object such as {"n": "count()"}, got a list'),
        (LOAD | {"aggregates": {}}, "aggregates is empty"),
        (LOAD | {"aggregates": {"low": 1}}, 'aggregates.low must be text such as "min(temp)", got a number'),
        (LOAD | {"aggregates": {"low": "mim(temp)"}}, "aggregates.low: line 1, column 1: unknown aggregate 'mim'"),
    ],
)
def test_wrong_shapes_are_refused_by_their_field(
    endpoint: Endpoint, manager: StandIn, body: object, words: str
) -> None:
    status, said, _ = ask(endpoint, "POST", "/register", body)
    assert status == 400
    assert words in said["error"]
    assert manager.asked == []


def test_what_takes_a_name_takes_nothing_else(endpoint: Endpoint) -> None:
    for path in ("/suspend", "/resume", "/drop"):
        status, said, _ = ask(endpoint, "POST", path, {"name": "load", "force": True})
        assert (status, said["error"]) == (400, "the request has an unknown field 'force'. Known are name")


def test_a_window_says_at_which_place_an_aggregate_cannot_be_read(endpoint: Endpoint) -> None:
    _, said, _ = ask(endpoint, "POST", "/register", LOAD | {"aggregates": {"low": "min(temp * 2)"}})
    assert said["error"].splitlines()[1:] == ["  min(temp * 2)", "      ^^^^^^^^"]


# --- how much, and how slowly


def test_a_request_over_a_mebibyte_is_refused_before_it_is_read(endpoint: Endpoint, manager: StandIn) -> None:
    # Nothing of the body is sent: an endpoint that would read it could not answer.
    answer = raw(endpoint, head(endpoint, "POST /register HTTP/1.1", f"Content-Length: {MOST_BYTES + 1}"))
    assert b" 413 " in answer.split(b"\r\n")[0]
    # Sent in full, the refusal still arrives.
    status, said, _ = ask(endpoint, "POST", "/register", b" " * (4 * MOST_BYTES))
    assert status == 413
    assert said["error"] == "the request has 4,194,304 bytes, and at most 1,048,576 are taken"
    assert manager.asked == []


def test_a_request_of_a_mebibyte_is_read(endpoint: Endpoint, manager: StandIn) -> None:
    body = json.dumps(LOAD).encode()
    assert ask(endpoint, "POST", "/register", body + b" " * (MOST_BYTES - len(body)))[0] == 200
    assert len(manager.asked) == 1


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ((), 411),
        (("Transfer-Encoding: chunked",), 411),
        (("Transfer-Encoding: chunked", "Content-Length: 3"), 411),
        (("Content-Length: -1",), 400),
        (("Content-Length: ten",), 400),
        (("Content-Length: 1e3",), 400),
        (("Content-Length: 0x10",), 400),
        (("Content-Length: ٣",), 400),
        (("Content-Length: 3", "Content-Length: 4"), 400),
        (("Content-Length: 99999999999999999999999",), 400),
        (("Content-Length: 999999999999",), 413),
    ],
)
def test_a_length_that_is_missing_or_none_is_refused(endpoint: Endpoint, headers: tuple[str, ...], status: int) -> None:
    answer = raw(endpoint, head(endpoint, "POST /register HTTP/1.1", *headers) + b"{}")
    assert f" {status} ".encode() in answer.split(b"\r\n")[0]


def test_a_length_that_promises_more_is_refused_when_the_client_is_done(endpoint: Endpoint) -> None:
    request = head(endpoint, "POST /drop HTTP/1.1", "Content-Length: 100") + b'{"name": "load"}'
    answer = raw(endpoint, request, half_closed=True)
    assert b" 400 " in answer.split(b"\r\n")[0]
    assert b"Content-Length says 100 bytes, and 16 came" in answer


def test_a_length_that_promises_more_ends_when_time_is_up(endpoint: Endpoint) -> None:
    began = time.monotonic()
    answer = raw(endpoint, head(endpoint, "POST /drop HTTP/1.1", "Content-Length: 100") + b'{"name": "load"}')
    assert b" 408 " in answer.split(b"\r\n")[0]
    assert 0.9 < time.monotonic() - began < 5


def test_a_length_that_promises_less_cuts_the_request(endpoint: Endpoint) -> None:
    answer = raw(endpoint, head(endpoint, "POST /drop HTTP/1.1", "Content-Length: 5") + b'{"name": "load"}')
    assert b" 400 " in answer.split(b"\r\n")[0]


def test_bytes_that_trickle_in_do_not_hold_a_thread_for_long(endpoint: Endpoint) -> None:
    began = time.monotonic()
    address = (endpoint.control.host, endpoint.control.port)
    with contextlib.suppress(OSError), socket.create_connection(address, timeout=10) as connection:
        for byte in b"GET /status HTTP/1.1\r\nX: " + b"x" * 1000:
            connection.sendall(bytes([byte]))
            time.sleep(0.05)
            if time.monotonic() - began > 8:
                break
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "request_", [b"\r\n\r\n", b"hello\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01" * 50 + b"\r\n"]
)
def test_what_is_no_http_is_refused_without_a_page(endpoint: Endpoint, request_: bytes) -> None:
    assert b"<html" not in raw(endpoint, request_, half_closed=True).lower()
    assert ask(endpoint, "GET", "/status")[0] == 200


def test_clients_that_go_away_leave_nothing_behind(endpoint: Endpoint, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(20):
        with socket.create_connection((endpoint.control.host, endpoint.control.port)) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.sendall(head(endpoint, "GET /status HTTP/1.1"))
    assert ask(endpoint, "GET", "/status")[0] == 200
    assert capfd.readouterr().err == ""


# --- control.json


def test_the_file_is_for_its_owner_alone_and_goes_with_the_endpoint(manager: StandIn, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with Endpoint(manager, tmp_path / "ck") as endpoint:
            path = tmp_path / "ck" / NAME
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert json.loads(path.read_text()).keys() == {"version", "host", "port", "pid", "token"}
            assert read_control(path) == read_control(tmp_path / "ck") == endpoint.control
            assert endpoint.control.pid == os.getpid()
            assert len(endpoint.control.token) >= 40
            assert endpoint.control.token not in repr(endpoint.control)
            assert os.listdir(tmp_path / "ck") == [NAME]
    finally:
        os.umask(before)
    assert os.listdir(tmp_path / "ck") == []


def test_what_a_dead_process_left_is_written_over(manager: StandIn, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        stale = Control("127.0.0.1", taken.getsockname()[1], os.getpid(), "old")
        write_control(tmp_path, stale)
        (tmp_path / NAME).chmod(0o644)
        with Endpoint(manager, tmp_path) as endpoint:
            assert read_control(tmp_path) == endpoint.control != stale
            assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600
    (tmp_path / NAME).write_text("{ torn")
    with Endpoint(manager, tmp_path) as endpoint:
        assert read_control(tmp_path) == endpoint.control


def test_a_second_endpoint_is_refused_and_the_first_goes_on(endpoint: Endpoint, tmp_path: Path) -> None:
    with pytest.raises(ManagerError, match=rf"the manager in process {os.getpid()} answers for .* at 127\.0\.0\.1:"):
        Endpoint(StandIn(), tmp_path / "ck")
    assert read_control(tmp_path / "ck") == endpoint.control
    assert Client.at(tmp_path / "ck").status()["state"] == "running"


def test_a_file_of_another_is_left_alone_at_the_end(manager: StandIn, tmp_path: Path) -> None:
    other = Control("127.0.0.1", 1, 1, "other")
    with Endpoint(manager, tmp_path):
        write_control(tmp_path, other)
    assert read_control(tmp_path) == other


def test_a_port_that_is_taken_is_refused(endpoint: Endpoint, tmp_path: Path) -> None:
    with pytest.raises(ManagerError, match=r"cannot listen on 127\.0\.0\.1 port .* Choose another --port, or 0"):
        Endpoint(StandIn(), tmp_path / "other", port=endpoint.control.port)
    assert not (tmp_path / "other").exists()


# --- the commands


def run(*arguments: object, **options: Any) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)), prog_name="muntin", **options)


def refused(*arguments: object, **options: Any) -> str:
    result = run(*arguments, **options)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr.removeprefix("muntin: error: ").removesuffix("\n")


def test_the_commands_reach_the_manager(endpoint: Endpoint, manager: StandIn, tmp_path: Path) -> None:
    at = ("--checkpoint", tmp_path / "ck")
    registered = run(
        "register", "load", *at, "--window", "5m", "-w", "r=1h/10m", "--agg", "n=count()", "-a", "low=min(t)"
    )
    assert (registered.exit_code, registered.stdout) == (0, "done=running name=load\n")
    ((_, windows, aggregates),) = manager.asked
    assert (repr(windows), repr(aggregates)) == (
        "(tumbling('5m'), hopping('1h', slide='10m', id='r'))",
        "{'n': count(), 'low': min(t)}",
    )
    assert run("suspend", "load", *at).stdout == "done=suspended name=load\n"
    assert json.loads(run("resume", "load", *at, "--json").stdout) == {"done": "running", "name": "load"}
    assert json.loads(run("status", *at, "--json").stdout)["queries"] == {"load": "running"}
    assert run("status", env={VARIABLE: str(tmp_path / "ck" / NAME)}).stdout.startswith("state=running")
    assert run("status", *at, "--explain").stdout == "one operator\nfor all\n"
    assert run("drop", "load", *at).exit_code == 0
    assert refused("drop", "load", *at) == "there is no query 'load'"
    assert run("stop", *at).stdout == "stopping after the batch that runs\n"
    assert manager.stopped.wait(5)


def test_watch_looks_until_the_manager_ends(manager: StandIn, tmp_path: Path) -> None:
    with Endpoint(manager, tmp_path):
        command = [sys.executable, "-m", "muntin", "status", "--checkpoint", str(tmp_path), "--watch", "--json"]
        watching = subprocess.Popen(
            [*command, "--every", "0.1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert watching.stdout is not None
        looks = [json.loads(watching.stdout.readline()) for _ in range(3)]
        assert looks == [{"state": "running", "queries": {}}] * 3
    out, said = watching.communicate(timeout=20)
    assert (watching.returncode, said) == (0, "the manager has stopped\n"), out


def interruptible() -> None:
    """Heed Ctrl-C also where the tests run in the background of a shell, which has what it starts there ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_ctrl_c_ends_a_watch_without_a_word(endpoint: Endpoint, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "muntin", "status", "--checkpoint", str(tmp_path / "ck"), "--watch"]
    watching = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=interruptible
    )
    assert watching.stdout is not None
    assert watching.stdout.readline() == "state=running queries={}\n"
    watching.send_signal(signal.SIGINT)
    _, said = watching.communicate(timeout=20)
    assert (watching.returncode, said) == (0, "")


def test_a_terminal_sees_the_status_in_place(endpoint: Endpoint, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "muntin", "status", "--checkpoint", str(tmp_path / "ck"), "--watch"]
    watching = subprocess.Popen(
        [*command, "--every", "0.1"],
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm"},
        preexec_fn=interruptible,
    )
    os.close(theirs)
    seen = ""
    while seen.count("state=running") < 3:
        seen += os.read(ours, 65536).decode()
    watching.send_signal(signal.SIGINT)
    assert watching.wait(20) == 0
    os.close(ours)
    # The line is erased and written anew.
    assert "\x1b[2Kstate=running" in seen


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("-w 5m -a count()", "cannot read --agg 'count()': write COLUMN=AGGREGATE, for example low=min(temp)"),
        ("-w 5m -a count(filter=x)", "cannot read --agg 'count(filter=x)'"),
        ("-w 5m -a n=count() -a n=min(x)", "--agg n is given twice: count() and min(x)"),
        ("-w 5m -a n=mim(x)", "--agg n, line 1, column 1: unknown aggregate 'mim'. Did you mean `min`?"),
        ("-w 5x -a n=count()", "unknown unit 'x' in duration '5x'"),
        ("-a n=count()", "Missing option '--window' / '-w'. See `muntin register --help`"),
        ("-w 5m", "Missing option '--agg' / '-a'. See `muntin register --help`"),
    ],
)
def test_a_query_that_cannot_be_read_is_refused_without_a_manager(tmp_path: Path, arguments: str, words: str) -> None:
    assert refused("register", "load", "-c", tmp_path, *arguments.split()).startswith(words)


def test_the_caret_stands_below_an_aggregate_that_cannot_be_read(tmp_path: Path) -> None:
    said = refused("register", "load", "-c", tmp_path, "-w", "5m", "-a", "n=min(temp * 2)")
    assert said.splitlines()[1:] == ["  min(temp * 2)", "      ^^^^^^^^"]


def test_without_a_manager_there_is_a_clear_error(tmp_path: Path) -> None:
    said = refused("status", "--checkpoint", tmp_path)
    assert said.startswith(f"no manager runs on {tmp_path}: there is no {tmp_path / NAME}. Start one with muntin serve")
    assert refused("status").startswith(f"Missing option '--checkpoint' / '-c' (env var: '{VARIABLE}')")


def test_a_manager_that_died_is_told_from_one_that_is_slow(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        write_control(tmp_path, Control("127.0.0.1", port, ended.pid, "token"))
        said = refused("status", "--checkpoint", tmp_path)
        assert said.startswith(f"the manager does not answer at 127.0.0.1:{port}")
        assert f"its process {ended.pid} has ended, and not by being stopped" in said
        write_control(tmp_path, Control("127.0.0.1", port, os.getpid(), "token"))
        assert "it may be stopping" in refused("status", "--checkpoint", tmp_path)
        silent.listen()
        with pytest.raises(ManagerError, match=r"did not answer within 0\.2 s; the change may still take effect"):
            Client.at(tmp_path, seconds=0.2).suspend("load")


def test_another_program_at_the_address_is_told_apart(endpoint: Endpoint, tmp_path: Path) -> None:
    wrong = Control(endpoint.control.host, endpoint.control.port, endpoint.control.pid, "another")
    with pytest.raises(ManagerError, match="does not take the token"):
        Client(wrong).status()
    with socket.create_server(("127.0.0.1", 0)) as server:
        answering = threading.Thread(target=_greet, args=(server,))
        answering.start()
        with pytest.raises(ManagerError, match="is no manager"):
            Client(Control("127.0.0.1", server.getsockname()[1], os.getpid(), "token")).status()
        answering.join(10)


def _greet(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(b"220 mail.example.org ready\r\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_token_of_another_user_cannot_be_read(tmp_path: Path) -> None:
    write_control(tmp_path, Control("127.0.0.1", 1, 1, "token"))
    os.seteuid(65534)
    try:
        said = refused("status", "--checkpoint", tmp_path)
    finally:
        os.seteuid(0)
    assert "may not be read by this user" in said
    assert "Run the command as that user" in said


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text('{"version": 1, "host": "127.0.0.1"')
    assert f"{tmp_path / NAME}, which says where the manager listens, is damaged" in refused("status", "-c", tmp_path)
    (tmp_path / NAME).write_text('{"version": 2}')
    assert "has version 2, and this muntin reads 1" in refused("status", "-c", tmp_path)


@pytest.mark.parametrize("command", ["serve", "register", "suspend", "resume", "drop", "status", "stop"])
def test_help_teaches_by_examples(command: str) -> None:
    text = run(command, "--help").stdout
    assert "Example" in text
    assert f"muntin {command}" in text
    assert "Exit codes:" in text
    assert max(map(len, text.splitlines())) <= 80


# --- shapes, without a socket


def test_bodies_and_names() -> None:
    assert read_name(read_body(b' {"name": "caf\\u00e9"} ')) == "café"
    with pytest.raises(RequestError, match="name is missing"):
        read_name({})
    assert read_registration(LOAD).name == "load"
