"""First mistakes with the steps of a query: each is refused with what to write instead. No Spark is needed for them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from muntin import agg, tumbling, windows
from muntin.errors import QueryError, WindowError
from muntin.query import Events

EVENTS = Events(None, "ts", ())
OVER = EVENTS.over(tumbling("10s"))
QUERY: Any = OVER.agg(n=agg.count())


@pytest.mark.parametrize(
    ("library", "said"),
    [
        ("pandas.core.frame", "pandas.DataFrame: make it one with spark.createDataFrame(df)"),
        ("pyarrow.lib", "pyarrow.DataFrame: make it one with spark.createDataFrame(df)"),
        ("polars.dataframe.frame", "polars.DataFrame"),
        ("builtins", "DataFrame"),
    ],
)
def test_events_of_another_library_are_named_with_it(library: str, said: str) -> None:
    frame: Any = type("DataFrame", (), {"__module__": library})()
    with pytest.raises(QueryError) as caught:
        windows(frame, time="ts")
    assert str(caught.value) == f"the events must be a Spark DataFrame, got {said}"


def test_aggregates_without_names() -> None:
    over: Any = OVER
    with pytest.raises(QueryError) as caught:
        over.agg(agg.min("v"))
    assert str(caught.value) == (
        "each aggregate needs the name of its column, got min(v) without one: write .agg(low=agg.min('temp'))"
    )
    with pytest.raises(QueryError, match=r"got \{'low': min\(v\)\} without one: write .agg\(\*\*\{'low': agg.min"):
        over.agg({"low": agg.min("v")})


@pytest.mark.parametrize("given", [{"rows": 5}, 5, "big"])
def test_statistics_of_another_type(given: Any) -> None:
    with pytest.raises(QueryError, match=f"^statistics must be a muntin.Statistics, got {type(given).__name__}: "):
        QUERY.plan(statistics=given)


def test_any_iterable_of_windows_is_taken() -> None:
    several = [tumbling("10s"), tumbling("20s")]
    take: Any = EVENTS.over
    given = (several, tuple(several), iter(several), (w for w in several), dict.fromkeys(several))
    assert {take(of).windows for of in given} == {tuple(several)}
    assert take(*several).windows == tuple(several)
    column: Any = type("Column", (), {"cast": None, "__iter__": lambda _: 1 / 0})()
    for wrong in ("10s", column, ["10s"]):
        with pytest.raises(WindowError, match="expected a window"):
            take(wrong)
    with pytest.raises(WindowError, match="window set is empty"):
        take()


@pytest.mark.parametrize(
    ("given", "name", "said"),
    [
        (EVENTS, "agg", "Events has no agg(): the windows are not chosen yet. Write .over(tumbling('20m')).agg()"),
        (
            EVENTS,
            "plan",
            "Events has no plan(): the windows are not chosen yet. "
            "Write .over(tumbling('20m')).agg(n=agg.count()).plan()",
        ),
        *(
            (
                OVER,
                name,
                f"WindowedEvents has no {name}(): the aggregates are not chosen yet. "
                f"Write .agg(n=agg.count()).{name}()",
            )
            for name in ("plan", "native", "explain")
        ),
        (
            OVER,
            "run",
            "WindowedEvents has no run(): the aggregates are not chosen yet. Write .agg(n=agg.count()).plan().run()",
        ),
        *(
            (QUERY, name, f"Query has no {name}(): it is not planned yet. Write .plan().{name}()")
            for name in ("run", "stream")
        ),
        *(
            (QUERY, name, f"Query has no {name}(): it is not planned yet. Write .plan().run().{name}()")
            for name in ("show", "collect", "toPandas")
        ),
    ],
)
def test_a_step_that_was_left_out_is_named(given: object, name: str, said: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(given, name)
    assert str(caught.value) == said
    assert not hasattr(given, name)


@pytest.mark.parametrize("given", [EVENTS, OVER, QUERY], ids=["events", "over", "query"])
def test_other_names_are_missing_as_ever(given: Any) -> None:
    for name in ("_repr_html_", "_repr_svg_", "_ipython_display_", "nope"):
        assert not hasattr(given, name)
        with pytest.raises(AttributeError, match=f"^'{type(given).__name__}' object has no attribute '{name}'"):
            getattr(given, name)
    assert copy.copy(given) == copy.deepcopy(given) == pickle.loads(pickle.dumps(given)) == given
