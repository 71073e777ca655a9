"""The benchmarks by name: the module `bench.NAME` holds `run`, unless another is given."""

from __future__ import annotations

import importlib
import inspect
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.measure import Track
    from bench.report import Report

BENCHMARKS: Mapping[str, str] = MappingProxyType(
    {
        "optimizer": "time to find a plan: the sets of Tables I to III, and 1,000 windows",
        "gap": "cost of Algorithm 3's plans above the optimum: the sets of Table I",
        "incremental": "slides of every structure, break-even points, memory, columns over keys, batch kernels",
        "table1": "Spark: speed-ups of Table I, 5 and 10 windows at a constant pace",
        "table2": "Spark: speed-ups of Table II, the same windows over power readings (--data)",
        "table3": "Spark: speed-ups of Table III, 15 and 20 windows",
        "table4": "Spark: speed-ups of Table IV, the windows of Table I over a million events",
        "forum": "Spark: counts over 1 h, 12 h and 24 h each minute, against window() and OVER",
        "never_slower": "Spark: 40 random workloads, auto against the plan written by hand",
        "correlation": "Spark: speed-ups predicted and seen, Figure 19 (--data: a table1.csv)",
        "stages": "Spark: processor seconds of each stage of ten windows through panes",
        "peers": "Spark, DuckDB and Polars on the same files",
        "streaming": "Spark: streams of 1 to 20 windows, against native aggregates in one query and in many",
        "soak": "Spark: ten windows over a steady stream for 30 minutes, its memory and its state",
        "weave": "many queries: plan costs of WeaveShare and TriWeave, F1, plans run for real (--data: readings)",
        "weave_stream": "Spark: plans of many queries as streams, cost beside time",
        "manager": "Spark: queries that come and go on a running stream, with kills; pauses, and every row compared",
        "subsume": "windows that share states: groups, memory and SUM of 1,000 to 10,000 random windows",
    }
)
# Benchmarks whose module goes by another name.
_MODULES: Mapping[str, str] = MappingProxyType({"soak": "streaming_soak"})


class Benchmark(Protocol):
    """Measure, with fewer and smaller window sets where `quick`; some take options of their own."""

    def __call__(self, *, quick: bool, track: Track, **options: Any) -> Report:
        """Run and report."""


def benchmark(name: str) -> Benchmark:
    """Load a benchmark by name.

    >>> benchmark("gap").__module__
    'bench.gap'
    """
    return cast("Benchmark", importlib.import_module(f"bench.{_MODULES.get(name, name)}").run)


def options(name: str) -> frozenset[str]:
    """List what a benchmark can be told beside how much to measure.

    >>> sorted(options("table2")), sorted(options("gap"))
    (['data', 'events', 'sets'], [])
    """
    return _parameters(name) - {"quick", "track", "keep"}


def keeps(name: str) -> bool:
    """Tell whether a benchmark keeps what it has found so far, in a folder that it is given.

    >>> keeps("table1"), keeps("gap")
    (True, False)
    """
    return "keep" in _parameters(name)


def _parameters(name: str) -> frozenset[str]:
    return frozenset(inspect.signature(benchmark(name)).parameters)
