"""The studio over a real socket: who may ask, what is refused and how, and what garbage gets for an answer."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from muntin.cli import main
from muntin.errors import MuntinError
from muntin.manager.guard import MOST_BYTES
from muntin.studio.pages import pages
from muntin.studio.server import ROUTES, Studio
from muntin.studio.turns import Turns

if TYPE_CHECKING:
    from tests.studio.conftest import Caller

PAPER = [{"range": "20m"}, {"range": "30m"}, {"range": "40m"}]
AZURE = """SELECT DeviceID, System.Window().Id, MIN(T) AS MinTemp, COUNT(*) AS n
FROM Input TIMESTAMP BY EntryTime
WHERE T > 0 AND Kind = 'a'
GROUP BY DeviceID, Windows(
    Window('20 min', TumblingWindow(minute, 20)),
    Window('1 h', HoppingWindow(Duration(hour, 1), Hop(minute, 10))))
HAVING MIN(T) > 3"""
SPARK = """SELECT window(ts, '40 minutes', '10 minutes') AS w, device, min(t), count(*) FILTER (WHERE t > 30) AS hot
FROM events GROUP BY window(ts, '40 minutes', '10 minutes'), device"""

NOISE = "( ) , ; ' \" ` [ ] /* -- * = 0 -1 1e9 NULL OVER UNION JOIN CASE WHEN"


# --- who may ask


@pytest.mark.parametrize("token", [None, "", "Bearer", "Bearer x", "Basic {token}", "Bearer {token}x", "{token}"])
@pytest.mark.parametrize("path", sorted(ROUTES))
def test_nothing_is_told_without_the_token(call: Caller, path: str, token: str | None) -> None:
    header = None if token is None else token.format(token=call.studio.token)
    status, found = call.json(
        ROUTES[path].method, path, {} if ROUTES[path].method == "POST" else None, Authorization=header
    )
    assert status == 401
    assert found.keys() == {"error", "kind"}
    assert "muntin studio printed" in found["error"]
    assert call.studio.token not in found["error"]


def test_the_token_in_the_address_of_a_request_does_not_count(call: Caller) -> None:
    assert call.json("GET", f"/api/about?token={call.studio.token}", Authorization=None)[0] == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "localhost:1", "", "192.168.0.1:{port}"]
)
def test_a_name_that_was_made_to_lead_here_is_refused(call: Caller, host: str) -> None:
    for path in ("/", "/api/about"):
        assert call.json("GET", path, Host=host.format(port=call.studio.port))[0] == 421


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
def test_the_names_of_this_machine_are_let_in(call: Caller, host: str) -> None:
    assert call.json("GET", "/api/about", Host=host.format(port=call.studio.port))[0] == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.7", "example.org", ""])
def test_other_machines_are_never_listened_to(host: str) -> None:
    with pytest.raises(MuntinError, match="can be reached from other machines"):
        Studio(host=host)


def test_each_studio_has_a_token_of_its_own(call: Caller) -> None:
    with Studio() as other:
        assert other.token != call.studio.token
        assert call.json("GET", "/api/about", Authorization=f"Bearer {other.token}")[0] == 401


# --- the page's files


def test_files_come_with_a_policy_that_lets_nothing_else_in(call: Caller) -> None:
    for path, (content, kind) in pages().items():
        status, headers, body = call("GET", path, Authorization=None)
        assert (status, body) == (200, content)
        assert headers["Content-Type"] == f"{kind}; charset=utf-8"
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in headers


def test_files_have_no_scripts_or_styles_in_them_and_no_other_hosts() -> None:
    for path, (content, _) in pages().items():
        text = content.decode().replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text, path
        assert "innerHTML" not in text, path
        assert " style=" not in text, path
        assert " onclick" not in text, path
    assert pages()["/"][0].count(b"<script") == 1


@pytest.mark.parametrize(
    "path", ["/nothing", "/static/main.js", "/../server.py", "/%2e%2e/server.py", "//etc/passwd", "/api/"]
)
def test_other_paths_are_not_there(call: Caller, path: str) -> None:
    assert call.json("GET", path)[0] == 404
    # Without the token not even that is told.
    assert call.json("GET", path, Authorization=None)[0] == 401


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_refused_without_leave_for_other_pages(call: Caller, method: str) -> None:
    for path in ("/", "/api/plan", "/api/about"):
        status, headers, _ = call(method, path, b"", Origin="http://evil.example")
        assert status == 405
        assert "Access-Control-Allow-Origin" not in headers


# --- how much, how slowly


def test_a_request_that_is_too_long_is_refused_before_it_is_read(call: Caller) -> None:
    began = time.monotonic()
    status, found = call.json("POST", "/api/plan", b"{", Content_Length=str(MOST_BYTES + 1))
    assert status == 413
    assert f"{MOST_BYTES:,}" in found["error"]
    assert time.monotonic() - began < 1


def test_a_request_as_long_as_allowed_is_read(call: Caller) -> None:
    body = b'{"sql": "' + b"x" * (MOST_BYTES - 11) + b'"}'
    assert len(body) == MOST_BYTES
    status, found = call.json("POST", "/api/plan", body)
    assert (status, "the window set is empty" in found["error"]) == (400, True)


def test_a_slow_request_is_given_up(call: Caller) -> None:
    assert call.json("POST", "/api/plan", b"{", Content_Length="100")[0] == 408


@pytest.mark.parametrize("length", [None, "-1", "x", "1e3", "9" * 30])
def test_a_length_that_is_none_is_refused(call: Caller, length: str | None) -> None:
    status, _ = call.json("POST", "/api/plan", None, Content_Length=length)
    assert status == (411 if length is None else 400)


@pytest.mark.parametrize(
    "body", [b"", b"x", b"[]", b'"a"', b"null", b"{", b'{"a":1,"a":2}', b"\xff\xfe", b"[" * 100_000, b'{"rate": NaN}']
)
def test_what_is_no_object_is_refused_clearly(call: Caller, body: bytes) -> None:
    for path in ("/api/plan", "/api/costs", "/api/spark", "/api/manager/register"):
        status, found = call.json("POST", path, body)
        assert status == 400
        assert "request" in found["error"]
        assert "Traceback" not in found["error"]


def test_bytes_that_are_no_http_are_refused(call: Caller) -> None:
    for said in (b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\0" * 100, b"A" * 70_000):
        with socket.create_connection(("127.0.0.1", call.studio.port), timeout=10) as connection:
            connection.sendall(said + b"\r\n\r\n")
            answer = connection.recv(65_536)
        assert b"Traceback" not in answer
        assert b" 200 " not in answer
    assert call.json("GET", "/api/about")[0] == 200


# --- what is wrong is said


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({}, "the window set is empty"),
        ({"windows": [{"range": "1x"}]}, "window 1: unknown unit 'x'"),
        ({"windows": [{"range": "1m"}, {"slide": "1m"}]}, "window 2: it has no range"),
        ({"windows": [{"range": "1m", "slide": "2m"}]}, "slide 2m is longer than range 1m"),
        ({"windows": [{"range": "1m"}, {"range": "5"}]}, "cannot stand in one set"),
        ({"windows": [{"range": "9" * 40}]}, "more digits than anybody counts"),
        ({"windows": [{"range": "1m", "id": 7}]}, "id must be text"),
        ({"windows": ["1m"]}, "windows must be a list of objects"),
        ({"windows": "1m"}, "windows must be a list of objects"),
        ({"windows": [{"range": "1m"}] * 201}, "201 windows"),
        ({"windows": PAPER, "rate": "0"}, "rate must be a positive number"),
        ({"windows": PAPER, "rate": "1e999999999"}, "more digits than anybody counts"),
        ({"windows": PAPER, "rate": 3}, "rate must be text"),
        ({"windows": PAPER, "optimizer": "best"}, "optimizer must be one of"),
        ({"windows": PAPER, "period": "ever"}, "period must be one of"),
        ({"windows": PAPER, "unit": "hour"}, "unit hour does not divide"),
        ({"windows": PAPER, "unit": "foot"}, "unknown unit"),
        ({"windows": PAPER, "aggregates": "medain"}, "Did you mean `median`?"),
        ({"windows": PAPER, "aggregates": "min(a * 2)"}, "reads columns by name"),
        ({"windows": PAPER, "aggregates": "a=min, a=max"}, "a is given twice"),
        ({"windows": PAPER, "mode": "spell"}, "mode must be sql or form"),
        ({"mode": "sql", "sql": ""}, "the query is empty"),
        ({"mode": "sql", "sql": "SELECT " + "1" * 5_000}, "more digits than anybody counts"),
        ({"mode": "sql", "sql": "x" * 100_001}, "at most 100,000"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_mistakes_are_named(call: Caller, said: dict[str, object], words: str) -> None:
    status, found = call.json("POST", "/api/plan", said)
    assert status == 400
    assert words in found["error"]


def test_a_mistake_in_a_query_has_its_place(call: Caller) -> None:
    text = AZURE.replace("minute, 20", "minutes, 20")
    status, found = call.json("POST", "/api/plan", {"mode": "sql", "sql": text})
    assert status == 400
    assert found["kind"] == "SqlError"
    assert found["line"] == 5
    lines = found["error"].splitlines()
    assert lines[0].startswith(f"line 5, column {found['column']}: ")
    assert text.splitlines()[4].strip() in lines[1]
    assert lines[2].strip("^ ") == ""


def test_a_defect_is_not_shown(call: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_: object) -> None:
        message = "a secret"
        raise RuntimeError(message)

    monkeypatch.setattr("muntin.studio.server.shown", broken)
    status, found = call.json("POST", "/api/plan", {"windows": PAPER})
    assert status == 500
    assert "a defect of the studio" in found["error"]
    assert "secret" not in found["error"]
    assert "a secret" in caplog.text


# --- garbage


def fuzzed(count: int, seed: int) -> list[str]:
    """Make texts that are nearly queries, and some that are nothing at all."""
    draw = random.Random(seed)
    words = [
        *AZURE.split(),
        *SPARK.split(),
        *NOISE.split(),
    ]
    words += [
        "\0",
        "\u202e",
        "窓",
        "😀",
        "\ud800",
        "\t\n",
        "9" * 25,
        "Tumbling(day, 99999)",
        "session_window(ts, '1s')",
        "{}",
        "\\",
    ]
    texts = []
    for number in range(count):
        if number % 10 == 0:
            texts.append("".join(chr(draw.randrange(1, 0x2FF)) for _ in range(draw.randrange(200))))
            continue
        tokens = draw.choice([AZURE, SPARK]).split(" ")
        for _ in range(draw.randrange(1, 6)):
            place = draw.randrange(len(tokens)) if tokens else 0
            act = draw.randrange(5)
            if act == 0:
                del tokens[place : place + draw.randrange(1, 4)]
            elif act == 1:
                tokens.insert(place, draw.choice(words))
            elif act == 2 and tokens:
                tokens[place] = draw.choice(words)
            elif act == 3 and tokens:
                tokens[place] = tokens[place][: draw.randrange(len(tokens[place]) + 1)]
            else:
                tokens = tokens[:place] + draw.sample(tokens[place:], len(tokens) - place) if act == 4 else tokens
        texts.append(" ".join(tokens))
    return texts


def test_a_thousand_fuzzed_queries_get_a_plan_or_a_clear_message(call: Caller) -> None:
    plans = 0
    for text in fuzzed(1_000, seed=8):
        status, found = call.json("POST", "/api/plan", {"mode": "sql", "sql": text, "optimizer": "factor"})
        assert status in (200, 400), (text, found)
        if status == 200:
            plans += 1
            assert found["groups"]
        else:
            assert found["kind"] != "InternalError"
            assert "Traceback" not in found["error"]
            assert len(found["error"]) < 2_000
    assert plans > 20  # else nothing but the first check was seen


def test_fuzzed_forms_get_a_plan_or_a_clear_message(call: Caller) -> None:
    draw = random.Random(8)
    bits = [
        "20m",
        "1h",
        "",
        "0",
        "-1",
        "5",
        "1e9",
        "π",
        "9" * 30,
        "1d/2",
        "min",
        "min(",
        "count(*)",
        "x=",
        "1/0",
        "٣",
        " ",
        "PT1H",
        "a,b",
    ]
    for _ in range(300):
        rows = [
            {part: draw.choice(bits) for part in ("range", "slide", "offset", "id")} for _ in range(draw.randrange(4))
        ]
        said = {name: draw.choice(bits) for name in ("aggregates", "rate", "unit", "keys")}
        status, found = call.json("POST", "/api/plan", {"windows": rows, **said, "optimizer": "factor"})
        assert status in (200, 400), (rows, said, found)


@pytest.mark.parametrize(
    "windows",
    [
        [{"range": str(n), "slide": "1"} for n in range(1, 200)],
        [{"range": str(n)} for n in (97, 89, 83, 79, 73, 71, 67, 61, 59, 53, 47, 43, 41, 37, 31, 29, 23, 19, 17, 13)],
        [{"range": "9" * 30}, {"range": "7" * 30}],
        [{"range": "1us"}, {"range": "36500d"}],
        [{"range": "24h", "slide": "1m"}, {"range": "12h", "slide": "7m", "offset": "3m"}],
        [{"range": "20m", "id": "</svg><script>alert(1)</script>"}, {"range": "40m", "id": "x" * 150}],
    ],
    ids=["many", "coprime", "huge", "far apart", "rolling", "markup"],
)
def test_window_sets_of_all_kinds_are_drawn_soon(call: Caller, windows: list[dict[str, str]]) -> None:
    began = time.monotonic()
    found = call.plan(windows=windows, optimizer="mincost")
    assert time.monotonic() - began < 8
    assert "<script" not in found["slices"]["svg"] + found["groups"][0]["after"]["svg"]


# --- what is shown


def test_the_papers_example(call: Caller) -> None:
    found = call.plan(windows=PAPER, aggregates="min", unit="minute", optimizer="factor")
    assert found["totals"]["baseline"] == "360"
    assert found["totals"]["cost"] == "150"
    assert found["factors"] == ["10m"]
    (group,) = found["groups"]
    assert [(w["label"], w["cost"]) for w in group["windows"]] == [
        ("10m", "120"),
        ("20m", "12"),
        ("40m", "6"),
        ("30m", "12"),
    ]
    assert group["before"]["svg"].startswith("<svg")
    assert "└─ 10m  factor" in found["explain"]
    assert '"cost"' in found["json"]
    assert found["command"] == "muntin plan -w 20m -w 30m -w 40m -a min --optimizer factor --unit minute"


def test_another_rate_or_optimizer_is_another_plan(call: Caller) -> None:
    windows = [{"range": "15"}, {"range": "17"}, {"range": "19"}]
    slow = call.plan(windows=windows, aggregates="sum", rate="1")
    fast = call.plan(windows=windows, aggregates="sum", rate="100")
    none = call.plan(windows=windows, aggregates="sum", rate="100", optimizer="none")
    assert (slow["factors"], fast["factors"], none["factors"]) == ([], ["1"], [])


def test_the_costs_of_all_optimizers(call: Caller) -> None:
    status, found = call.json("POST", "/api/costs", {"windows": PAPER, "unit": "minute"})
    assert status == 200
    assert {each["name"]: each["cost"] for each in found["costs"]} == {
        "none": "360", "mincost": "246", "factor": "150", "exact": "150", "auto": "150"
    }  # fmt: skip
    assert [each["name"] for each in found["costs"] if each["chosen"]] == ["auto"]


def test_an_optimizer_that_cannot_plan_has_no_bar(call: Caller) -> None:
    _, found = call.json("POST", "/api/costs", {"windows": PAPER, "aggregates": "median"})
    assert {each["name"]: each["share"] for each in found["costs"]}["mincost"] is None


@pytest.mark.parametrize(("text", "dialect"), [(AZURE, "Azure Stream Analytics"), (SPARK, "Spark SQL")])
def test_a_query_in_either_dialect(call: Caller, text: str, dialect: str) -> None:
    found = call.plan(mode="sql", sql=text)
    assert found["query"]["dialect"] == dialect
    assert found["slices"]["closed"] == ("right" if dialect.startswith("Azure") else "left")


@pytest.mark.parametrize("form", ["svg", "html", "json", "text", "mermaid"])
def test_a_plan_can_be_saved(call: Caller, form: str) -> None:
    status, found = call.json("POST", "/api/save", {"windows": PAPER, "form": form})
    assert status == 200
    assert "20m" in found["text"]
    assert call.json("POST", "/api/save", {"windows": PAPER, "form": "png"})[0] == 400


def test_the_code_runs_and_gives_the_same_cost(call: Caller) -> None:
    found = call.plan(
        windows=[*PAPER, {"range": "1h", "slide": "10m", "id": "it's"}], aggregates="low=min(temp), sum", rate="7/3"
    )
    names: dict[str, object] = {}
    exec(found["code"].split("# On Spark")[0], names)
    assert f"items read instead of {found['totals']['baseline']}" in str(names["plan"])


# --- in turn


def test_what_a_later_request_overtakes_is_not_computed(call: Caller) -> None:
    assert not call.plan(windows=PAPER, page="a", turn=2)["stale"]
    assert call.plan(windows=PAPER, page="a", turn=1) == {"stale": True}
    assert not call.plan(windows=PAPER, page="b", turn=1)["stale"]


def test_of_those_that_wait_only_the_last_is_wanted() -> None:
    turns, found = Turns(), {}

    def wait(number: int) -> None:
        with turns.turn({"page": "p", "turn": number}) as wanted:
            found[number] = wanted

    with turns.turn({"page": "p", "turn": 1}):
        threads = [threading.Thread(target=wait, args=(number,)) for number in (2, 3, 4)]
        for thread in threads:
            thread.start()
            time.sleep(0.05)
    for thread in threads:
        thread.join()
    assert found == {2: False, 3: False, 4: True}


def test_many_at_once(call: Caller) -> None:
    found: list[int] = []
    threads = [
        threading.Thread(
            target=lambda: found.append(call("POST", "/api/plan", {"windows": PAPER, "optimizer": "factor"})[0])
        )
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [200] * 20


# --- the manager, where there is none


def test_without_a_manager_it_is_said_how_to_get_one(call: Caller) -> None:
    assert call.json("GET", "/api/about")[1]["manager"] is None
    status, found = call.json("GET", "/api/manager/status")
    assert status == 409
    assert "muntin studio --manager CHECKPOINT" in found["error"]


# --- the command


def test_the_command_serves_until_it_is_told_to_stop() -> None:
    command = [sys.executable, "-m", "muntin", "studio", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.startswith("muntin studio is at http://127.0.0.1:")
        port = int(first.split(":")[2].split("/")[0])
        with socket.create_connection(("127.0.0.1", port), timeout=10):
            pass
        assert process.stdout.readline() == "Ctrl-C stops it\n"
        process.terminate()
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "", "")


def test_the_browser_is_led_to_the_page_without_the_token_on_its_command_line(tmp_path: Path) -> None:
    seen, browser = tmp_path / "seen", tmp_path / "browser"
    browser.write_text(
        f'#!/bin/sh\necho "$@" > {seen}.part\ncat "${{1#file://}}" >> {seen}.part\nmv {seen}.part {seen}\n'
    )
    browser.chmod(0o755)
    command = [sys.executable, "-m", "muntin", "studio"]
    environment = os.environ | {"BROWSER": f"{browser} %s", "DISPLAY": ":0"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        until = time.monotonic() + 30
        while not seen.exists() and time.monotonic() < until:
            time.sleep(0.05)
        process.terminate()
    given, page = seen.read_text().split("\n", 1)
    assert given.startswith("file://")
    assert url.partition("token=")[2] not in given
    assert url in page
    assert not Path(given.removeprefix("file://")).exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--host", "0.0.0.0"), "can be reached from other machines"),
        (("--port", "70000"), "Invalid value for '--port'"),
    ],
)
def test_the_command_refuses(options: tuple[str, ...], words: str) -> None:
    result = CliRunner().invoke(main, ["studio", "--no-browser", *options])
    assert result.exit_code == 2
    assert words in result.stderr


def test_a_port_that_is_taken_is_refused(call: Caller) -> None:
    with pytest.raises(
        MuntinError, match=f"cannot listen on 127.0.0.1 port {call.studio.port}: .* Choose another --port"
    ):
        Studio(port=call.studio.port)
