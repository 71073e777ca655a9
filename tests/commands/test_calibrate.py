"""Constants from times: each comes out of the plans that differ in it, and the command shows all that are measured."""

from __future__ import annotations

from dataclasses import fields

import pytest

from muntin.commands.calibrate import _MEANING
from muntin.physical.constants import SHIPPED
from muntin.spark.calibrate import _PACK, derive, probes


def test_times_that_constants_make_give_the_constants_back() -> None:
    scan, struct, group, part, exchange, copy = 0.2, 0.3, 0.1, 0.05, 0.9, 0.15
    enter, place, cell, leave, element = 1.5, 0.01, 0.2, 0.4, 0.3
    grouped = scan + group
    packed = grouped + _PACK * place + exchange / _PACK
    each = {
        "scan": scan,
        "struct": scan + struct,
        "hopping": scan + 4 * (struct + copy),
        "group": grouped,
        "parts": grouped + 4 * part,
        "exchange": grouped + exchange,
        "places": packed,
        "cells": packed + enter / _PACK + cell,
        "enter": grouped + exchange + enter,
        "leave": grouped + exchange + enter + leave,
        "runs": grouped + exchange + enter + element,
        "branches": 0.0,
    }
    assert set(each) == {probe.name for probe in probes(coarse=7_200)}
    events, cores = 1_000_000, 2.0
    found = derive(
        {name: us * events / cores / 1e6 for name, us in each.items()}, dict.fromkeys(each, 0.0), events, cores
    )
    wanted = {"scan": scan, "group_struct": struct, "group": group, "part": part, "copy": copy, "place": place}
    wanted |= {"exchange": exchange, "enter": enter, "cell": cell, "leave": leave, "element": element}
    assert {name: getattr(found, name) for name in wanted} == pytest.approx(wanted)


def test_every_constant_that_is_measured_is_shown() -> None:
    # Objects that Spark merges are priced by what ships; no probe has them.
    assert set(_MEANING) == {field.name for field in fields(SHIPPED)} - {"source", "fold"}
