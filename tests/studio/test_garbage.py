"""What the studio answers to bytes that nobody means: queries and requests broken on purpose, and far too much."""

from __future__ import annotations

import json
import random
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from muntin.manager.guard import MOST_BYTES
from muntin.studio.request import read_ask
from muntin.studio.server import ROUTES, Studio
from muntin.studio.spark_plan import LocalSpark
from tests.studio.conftest import Caller
from tests.studio.test_server import AZURE, PAPER, SPARK, fuzzed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ASKED = {"mode": "sql", "sql": AZURE, "optimizer": "factor", "rate": "10", "unit": "minute", "form": "svg"}
POSTS = sorted(path for path, route in ROUTES.items() if route.method == "POST" and path != "/api/spark")
# What only a defect, or the inside of the machine, would show.
INSIDE = ("Traceback", 'File "', ".py", "InternalError", "a defect of the studio")


def mutated(whole: bytes, draw: random.Random) -> bytes:
    """Break a text in one to eight places: bits, bytes, and pieces lost, doubled, moved or made up."""
    text = bytearray(whole)
    for _ in range(draw.choice((1, 1, 1, 2, 4, 8))):
        start = draw.randrange(len(text) + 1)
        end = min(len(text), start + draw.randrange(1, 12))
        act = draw.randrange(6)
        if act == 0 and start < len(text):
            text[start] ^= 1 << draw.randrange(8)
        elif act == 1:
            del text[start:end]
        elif act == 2:
            text[start:start] = text[start:end]
        elif act == 3:
            text[start:end] = draw.randbytes(end - start)
        elif act == 4:
            piece = text[start:end]
            del text[start:end]
            place = draw.randrange(len(text) + 1)
            text[place:place] = piece
        else:
            text[start:start] = bytes([draw.choice(b"()[]'\"`,;*/-.\0\\ ")]) * draw.randrange(1, 30)
    return bytes(text)


def clear(status: int, found: dict[str, Any], sent: object) -> None:
    assert status in (200, 400, 409), (sent, found)
    if status != 200:
        assert not any(word in str(found) for word in INSIDE), (sent, found)
        assert len(found["error"]) < 2_000


def test_a_thousand_queries_of_broken_bytes_get_a_plan_or_a_clear_message(
    call: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    draw = random.Random(18)
    said = {200: 0, 400: 0}
    for number in range(1_000):
        # Any byte is a character: what is no text at all has a test of its own.
        text = mutated(draw.choice([AZURE, SPARK]).encode(), draw).decode("latin-1")
        path = ("/api/plan", "/api/costs", "/api/save")[number % 3]
        status, found = call.json("POST", path, ASKED | {"sql": text})
        clear(status, found, text)
        said[status] += 1
    assert min(said.values()) > 20, said  # else one of the two was hardly seen
    assert not caplog.records


@pytest.mark.parametrize("path", POSTS)
def test_requests_of_broken_bytes_get_a_clear_message(
    call: Caller, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    draw = random.Random(path)
    whole = json.dumps(ASKED | {"windows": PAPER, "name": "load", "page": "p", "turn": 1}).encode()
    for number in range(60):
        body = draw.randbytes(draw.randrange(400)) if number % 4 == 0 else mutated(whole, draw)
        clear(*call.json("POST", path, body), body)
    assert not caplog.records


@pytest.mark.parametrize("path", sorted(ROUTES))
def test_garbage_without_the_token_learns_nothing(call: Caller, path: str) -> None:
    draw = random.Random(path)
    answers = set()
    for text in [AZURE, *fuzzed(10, seed=5)]:
        body = mutated(json.dumps(ASKED | {"sql": text}).encode(), draw)
        status, _, content = call("POST", path, body, Authorization=f"Bearer {draw.randbytes(24).hex()}")
        answers.add((status, content))
    ((status, content),) = answers
    assert status == 401
    assert call.studio.token.encode() not in content


@pytest.mark.parametrize("token", [True, False])
def test_posts_that_are_far_too_long_are_cut_off_and_others_go_on(call: Caller, token: bool) -> None:
    head = (
        f"POST /api/plan HTTP/1.1\r\nHost: 127.0.0.1:{call.studio.port}\r\n"
        f"Authorization: Bearer {call.studio.token if token else 'none'}\r\nContent-Length: {16 * MOST_BYTES}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", call.studio.port), timeout=20) as connection:
        connection.sendall(head.encode())
        answer = connection.recv(65_536)
        # Who goes on all the same is not listened to: the connection ends.
        with suppress(ConnectionError):
            for _ in range(16):
                connection.sendall(b"x" * MOST_BYTES)
            while more := connection.recv(65_536):
                answer += more
    assert answer.count(b"HTTP/1") == 1
    assert answer.split()[1] == (b"413" if token else b"401")
    assert not any(word.encode() in answer for word in INSIDE)
    assert call.plan(windows=PAPER)["totals"]


def test_a_spark_that_was_closed_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    house = LocalSpark()
    with Studio(spark=house) as studio:
        house.close()
        status, found = Caller(studio).json("POST", "/api/spark", {"windows": PAPER})
        assert status == 400
        assert found["error"] == "the studio is closing, and Spark with it. Start muntin studio again"
    assert not caplog.records


@pytest.mark.slow
def test_what_can_be_planned_on_paper_spark_plans_or_refuses_clearly(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    with Studio() as studio:
        call = Caller(studio)
        said = {200: 0, 400: 0}
        for text in fuzzed(1_000, seed=8):
            try:
                read_ask({"mode": "sql", "sql": text})
            except ValueError:
                continue
            status, found = call.json("POST", "/api/spark", {"mode": "sql", "sql": text, "optimizer": "factor"})
            clear(status, found, text)
            said[status] += 1
            if sum(said.values()) == 40:
                break
    assert said[200] > 5, said
    assert spark.range(3).count() == 3
    assert not caplog.records
