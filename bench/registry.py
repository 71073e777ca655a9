"""The benchmarks by name: the module `bench.NAME` holds `run`."""

from __future__ import annotations

import importlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.measure import Track
    from bench.report import Report

BENCHMARKS: Mapping[str, str] = MappingProxyType(
    {
        "optimizer": "time to find a plan: the sets of Tables I to III, and 1,000 windows",
        "gap": "cost of Algorithm 3's plans above the optimum: the sets of Table I",
        "incremental": "slides of every structure, break-even points, memory, columns over keys, batch kernels",
    }
)


class Benchmark(Protocol):
    """Measure, with fewer and smaller window sets where `quick`."""

    def __call__(self, *, quick: bool, track: Track) -> Report:
        """Run and report."""


def benchmark(name: str) -> Benchmark:
    """Load a benchmark by name.

    >>> benchmark("gap").__module__
    'bench.gap'
    """
    return cast("Benchmark", importlib.import_module(f"bench.{name}").run)
