"""The page's way to a manager: over a real endpoint with its real client; only the manager behind it is a stand-in."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from muntin.errors import ManagerError
from muntin.manager.asked import Asked, asked
from muntin.manager.control import Endpoint
from muntin.manager.registry import write_whole
from muntin.manager.status import Change, Status
from muntin.studio.results import Output
from muntin.studio.server import Studio
from tests.studio.conftest import Caller

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from muntin.aggregate.algebra import Aggregate
    from muntin.window.spec import Window

LOAD = {"name": "load", "windows": "1m, roll=5m/1m", "aggregates": "n=count(), low=min(temp, filter=temp > 0)"}


class StandIn:
    """A manager without a stream: it keeps the queries in mind, and answers with what a manager answers with."""

    def __init__(self) -> None:
        self.queries: dict[str, Asked] = {}

    def register(self, name: str, windows: Sequence[Window], aggregates: Mapping[str, Aggregate]) -> Change:
        if name in self.queries:
            msg = f"there is a query {name!r} already: drop it first, or choose another name"
            raise ManagerError(msg)
        return self._done("registered", asked(name, windows, aggregates))

    def suspend(self, name: str) -> Change:
        return self._done("suspended", self._find(name).suspended())

    def resume(self, name: str) -> Change:
        return self._done("resumed", self._find(name).started(()))

    def drop(self, name: str) -> Change:
        found = self._done("dropped", self._find(name))
        del self.queries[name]
        return found

    def status(self) -> Status:
        return Status("running", 3, tuple(self.queries.values()), 7, 60_000_000, 1234.5, 42, 10**6, (0.5,), {})

    def explain(self) -> str:
        return "one operator\nfor all"

    def stop(self) -> None:
        """Nothing runs."""

    def _find(self, name: str) -> Asked:
        if name not in self.queries:
            msg = f"there is no query {name!r}"
            raise ManagerError(msg)
        return self.queries[name]

    def _done(self, what: str, query: Asked) -> Change:
        self.queries[query.name] = query
        return Change(what, query, 1, 0.25)


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    with Endpoint(StandIn(), tmp_path / "ck") as opened:
        yield opened


@pytest.fixture
def manager(endpoint: Endpoint, tmp_path: Path) -> Iterator[Caller]:
    with Studio(manager=tmp_path / "ck") as opened:
        yield Caller(opened)


def test_queries_come_and_go(manager: Caller) -> None:
    status, found = manager.json("POST", "/api/manager/register", LOAD)
    assert (status, found["text"].splitlines()[0]) == (
        200,
        "load registered (version 1; the stream stood still for 0.25 s)",
    )
    status, found = manager.json("GET", "/api/manager/status")
    (query,) = found["queries"]
    assert [window["id"] for window in query["windows"]] == ["tumbling_1m", "roll"]
    assert query["aggregates"] == {"n": "count()", "low": "min(temp, filter=temp > 0)"}
    for verb, activity in (("suspend", "suspended"), ("resume", "running")):
        assert manager.json("POST", f"/api/manager/{verb}", {"name": "load"})[0] == 200
        assert manager.json("GET", "/api/manager/status")[1]["queries"][0]["activity"] == activity
    assert manager.json("POST", "/api/manager/drop", {"name": "load"})[0] == 200
    assert manager.json("GET", "/api/manager/status")[1]["queries"] == []
    assert manager.json("GET", "/api/manager/explain")[1] == {"text": "one operator\nfor all"}


def test_the_managers_token_stays_here(manager: Caller, endpoint: Endpoint) -> None:
    secret = endpoint.control.token
    manager.json("POST", "/api/manager/register", LOAD)
    asks: list[tuple[str, str, object]] = [
        ("GET", "/api/about", None),
        ("GET", "/api/manager/status", None),
        ("GET", "/api/manager/explain", None),
        ("POST", "/api/manager/results", {}),
        ("POST", "/api/manager/register", LOAD),
        ("POST", "/api/manager/drop", {"name": "x"}),
    ]
    for method, path, body in asks:
        _, headers, content = manager(method, path, body)
        assert secret not in content.decode() + str(headers)
    # Nor does it open this door.
    assert manager.json("GET", "/api/about", Authorization=f"Bearer {secret}")[0] == 401


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": ""}, "name is empty"),
        ({"name": "per hour"}, "a query's name has letters"),
        ({"windows": ""}, "windows is empty"),
        ({"windows": "5"}, "has no unit"),
        ({"windows": "1m, 5x"}, "windows[1]: unknown unit 'x'"),
        ({"aggregates": ""}, "aggregates is empty"),
        ({"aggregates": "count()"}, "Write COLUMN=AGGREGATE"),
        ({"aggregates": "n=count(), n=sum(x)"}, "n is given twice"),
        ({"aggregates": "n=cuont()"}, "Did you mean `count`?"),
        ({"aggregates": 5}, "aggregates must be text"),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_query_is_said(manager: Caller, change: dict[str, object], words: str) -> None:
    status, found = manager.json("POST", "/api/manager/register", LOAD | change)
    assert status in (400, 409)
    assert words in found["error"]


def test_what_the_manager_refuses_is_said(manager: Caller) -> None:
    manager.json("POST", "/api/manager/register", LOAD)
    status, found = manager.json("POST", "/api/manager/register", LOAD)
    assert (status, found["error"]) == (409, "there is a query 'load' already: drop it first, or choose another name")
    assert manager.json("POST", "/api/manager/suspend", {"name": "none"})[1]["error"] == "there is no query 'none'"
    assert manager.json("POST", "/api/manager/suspend", {})[0] == 400


def test_a_manager_that_has_gone_and_comes_back(manager: Caller, endpoint: Endpoint, tmp_path: Path) -> None:
    assert manager.json("GET", "/api/manager/status")[0] == 200
    endpoint.close()
    status, found = manager.json("GET", "/api/manager/status")
    assert status == 409
    assert "no manager runs on" in found["error"]
    with Endpoint(StandIn(), tmp_path / "ck"):
        assert manager.json("GET", "/api/manager/status")[0] == 200
    # The fixture closes what is closed already.
    endpoint.close = lambda: None  # type: ignore[method-assign]


# --- rows


def rows(folder: Path, batch: int, values: Mapping[str, Sequence[Any]], *, whole: bool = True) -> None:
    """Write rows as the manager's sink does."""
    place = folder / f"batch={batch:010}"
    place.mkdir(parents=True)
    pq.write_table(pa.table(dict(values)), place / "part-0.parquet")
    if whole:
        (place / "_SUCCESS").touch()


def minutes(name: str, keys: Sequence[str], length: int, first: int, count: int) -> dict[str, list[Any]]:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    found: dict[str, list[Any]] = {"window_id": [], "window": [], "device": [], "n": [], "names": []}
    for number in range(first, first + count):
        for key in keys:
            begin = start + timedelta(minutes=number)
            found["window_id"].append(name)
            found["window"].append({"start": begin, "end": begin + timedelta(minutes=length)})
            found["device"].append(key)
            found["n"].append(number * length + ord(key))
            found["names"].append(["x"])
    return found


QUERIES = [
    {"name": "short", "aggregates": {"n": "count()", "names": "collect(x)"}},
    {"name": "long", "aggregates": {"n": "count()"}},
    {"name": "silent", "aggregates": {"m": "count()"}},
]


@pytest.fixture
def output(tmp_path: Path) -> Output:
    folder = tmp_path / "out"
    rows(folder / "short", 1, minutes("tumbling_1m", "ab", 1, 0, 5))
    rows(folder / "short", 2, minutes("tumbling_1m", "ab", 1, 5, 5))
    rows(folder / "short", 3, minutes("tumbling_1m", "ab", 1, 10, 5), whole=False)
    long = minutes("hopping_5m_1m", "ab", 5, 0, 3)
    del long["names"]
    rows(folder / "long", 1, long)
    return Output(folder)


def test_windows_of_several_queries_are_in_one_chart(output: Output) -> None:
    found = output.results(QUERIES, "", "")
    assert (found.columns, found.keys, found.column, found.key) == (("n",), ("a", "b"), "n", "a")
    assert [(each.query, each.window, len(each.points)) for each in found.series] == [
        ("short", "tumbling_1m", 10),  # the micro-batch that is not whole does not count
        ("long", "hopping_5m_1m", 3),
    ]
    first = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
    assert found.series[0].points[0] == (int(first.timestamp()) * 1_000_000, 97.0)
    assert output.results(QUERIES, "n", "b").series[0].points[0][1] == 98.0


def test_a_micro_batch_that_is_written_again_is_read_again(output: Output) -> None:
    assert len(output.results(QUERIES, "", "").series[0].points) == 10
    mark = output.folder / "short" / f"batch={3:010}" / "_SUCCESS"
    mark.touch()
    assert len(output.results(QUERIES, "", "").series[0].points) == 15
    again = minutes("tumbling_1m", "ab", 1, 10, 7)
    pq.write_table(pa.table(again), mark.parent / "part-0.parquet")
    os.utime(mark, ns=(0, mark.stat().st_mtime_ns + 1_000_000_000))
    assert len(output.results(QUERIES, "", "").series[0].points) == 17


def test_damaged_files_are_told_of(output: Output) -> None:
    (output.folder / "short" / f"batch={1:010}" / "part-0.parquet").write_bytes(b"no parquet")
    with pytest.raises(ManagerError, match="cannot be read as Parquet"):
        output.results(QUERIES, "", "")


def test_rows_are_drawn_for_the_page(manager: Caller, output: Output, tmp_path: Path) -> None:
    _, found = manager.json("POST", "/api/manager/results", {})
    assert "only muntin serve does" in found["note"]
    write_whole(tmp_path / "ck" / "serve.json", f'{{"version": 1, "output": "{output.folder}"}}')
    _, found = manager.json("POST", "/api/manager/results", {})
    assert "no query has given rows yet" in found["note"]
    for name in ("short", "long"):
        manager.json("POST", "/api/manager/register", {"name": name, "windows": "1m", "aggregates": "n=count()"})
    _, found = manager.json("POST", "/api/manager/results", {"column": "n", "key": "b"})
    assert (found["columns"], found["keys"], found["key"], found["rows"]) == (["n"], ["a", "b"], "b", 13)
    assert found["svg"].count("mu-line ") == 2


def test_rows_of_a_dropped_query_of_the_same_name_make_no_keys(output: Output) -> None:
    other = minutes("tumbling_1m", "ab", 1, 20, 1)
    del other["names"]
    rows(output.folder / "short", 9, other)
    # Of today's query nothing is called names: the old rows have it all the same.
    found = output.results([{"name": "short", "aggregates": {"n": "count()"}}], "", "")
    assert (found.keys, len(found.series[0].points)) == (("a", "b"), 11)
