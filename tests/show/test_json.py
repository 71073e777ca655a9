from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from muntin import Window, agg, hopping, optimize, tumbling

if TYPE_CHECKING:
    from muntin import LogicalPlan


def test_the_papers_example(paper: LogicalPlan) -> None:
    found = paper.to_dict(costs={"mincost": 246, "exact": 150})
    assert found["optimizer"] == "factor"
    assert found["cost"] == {"none": 360, "mincost": 246, "factor": 150, "exact": 150}
    assert list(found["cost"]) == ["none", "mincost", "factor", "exact"]
    assert (found["unit"], found["rate"], found["period"]) == ("minute", 1, 120)
    assert found["windows"][1] == {
        "id": "tumbling_20m",
        "ids": ["tumbling_20m"],
        "text": "20m",
        "range": 20,
        "slide": 20,
        "offset": 0,
        "factor": False,
        "parent": "tumbling_10m",
        "instances": 6,
        "reads": 2,
        "cost": 12,
    }
    shape = {w["range"]: (w["factor"], w["parent"], w["cost"]) for w in found["windows"]}
    assert shape == {
        10: (True, None, 120),
        20: (False, "tumbling_10m", 12),
        30: (False, "tumbling_10m", 12),
        40: (False, "tumbling_20m", 6),
    }
    (group,) = found["groups"]
    assert (group["aggregates"], group["sharing"], group["covers"]) == (["min"], "covered", "dense")
    assert (group["cost"], group["baseline_cost"], group["gap"]) == (150, 360, None)


@pytest.mark.parametrize("name", ["paper", "several", "nasty", "fractions", "huge", "chain"])
def test_json_gives_back_what_went_in(name: str, request: pytest.FixtureRequest) -> None:
    plan: LogicalPlan = request.getfixturevalue(name)
    found = plan.to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["windows"] == found["groups"][0]["windows"]
    for group, shown in zip(plan.groups, found["groups"], strict=True):
        ids = [name for w in shown["windows"] if not w["factor"] for name in w["ids"]]
        assert sorted(ids) == sorted(w.id for w in plan.windows)
        known = {w["id"] for w in shown["windows"]}
        assert all(w["parent"] is None or w["parent"] in known for w in shown["windows"])
        assert len(shown["windows"]) == len(known) == len(group.forest.nodes)


def test_integers_stay_exact_and_fractions_are_text(fractions: LogicalPlan, chain: LogicalPlan) -> None:
    found = fractions.to_dict()
    assert Fraction(found["cost"]["exact"]) == fractions.cost
    assert sum(Fraction(w["cost"]) for w in found["windows"]) == fractions.cost
    assert (found["rate"], found["windows"][0]["instances"]) == ("7/3", 420)
    assert chain.to_dict()["period"] == 2**60


def test_numbers_too_long_to_be_written_out_are_text(huge: LogicalPlan) -> None:
    found = huge.to_dict()
    assert isinstance(found["period"], str)
    assert "e4" in found["period"]


def test_coinciding_windows_are_one_entry_with_all_ids(nasty: LogicalPlan) -> None:
    (entry,) = (w for w in nasty.to_dict()["windows"] if "twin" in w["ids"])
    assert entry["ids"] == ["a<b>&\"c\"'d'", "twin"]


def test_a_factor_window_never_takes_an_id_of_the_users() -> None:
    windows = [tumbling("20m", id="tumbling_10m"), tumbling("30m"), tumbling("40m")]
    found = optimize(windows, agg.min, optimizer="factor").to_dict()["windows"]
    assert [(w["id"], w["factor"], w["parent"]) for w in found][:2] == [
        ("factor_tumbling_10m", True, None),
        ("tumbling_10m", False, "factor_tumbling_10m"),
    ]


def test_offsets_need_not_be_whole_units() -> None:
    plan = optimize([hopping("1h", "20m", offset="90s"), hopping("2h", "20m", offset="90s")], agg.sum, unit="minute")
    assert {(w["slide"], w["offset"]) for w in plan.to_dict()["windows"] if not w["factor"]} == {(20, "3/2")}


def test_plain_integers_keep_their_unit() -> None:
    found = optimize([Window(20, 10), Window(30, 10)], agg.min, unit=5, optimizer="none").to_dict()
    assert (found["unit"], found["period"], [w["range"] for w in found["windows"]]) == (5, 12, [4, 6])
    assert found["windows"][0]["text"] == "20/10"
