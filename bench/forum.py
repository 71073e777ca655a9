"""The forum's case: rolling counts for each visitor and minute, against window() and against OVER (RANGE ...)."""

from __future__ import annotations

import multiprocessing
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench import events
from bench.chart import Chart, Panel, Series
from bench.features import features, native_seconds, over_events, over_minutes, over_panes
from bench.measure import interleave, spread
from bench.report import Report, Table
from bench.spark_session import Planned, configured, fingerprint, session, settings, sink

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from bench.measure import Track
    from bench.report import Cell

NATIVE_GOAL: Final = 100.0
OVER_GOAL: Final = 3.0
TREE: Final = "spark.sql.window.segmentTree.enabled"
OURS: Final = "muntin, with planning"
# How each query is asked, and whether Spark's segment tree is on.
OVER: Final[dict[str, tuple[Callable[[str], str], bool]]] = {
    "OVER events": (partial(over_events, second="unix_seconds(ts)"), False),
    "OVER events, tree": (partial(over_events, second="unix_seconds(ts)"), True),
    "OVER panes, tree": (partial(over_panes, minute="unix_seconds(ts) div 60"), True),
    "OVER minutes, tree": (
        partial(
            over_minutes,
            minute="unix_seconds(ts) div 60",
            spread="explode(sequence(low, high))",
            at="timestamp_seconds((minute + 1) * 60)",
        ),
        True,
    ),
}
SAME: Final = "OVER minutes, tree"
WHOLE: Final = "window()"
EXTRAPOLATED: Final = "window(), extrapolated"


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to measure: events of so many visitors over some days; window() gets `limit` seconds, then 1/`part`.

    Without `whole` it gets 1/`part` at once.
    """

    events: int = 1_000_000
    keys: int = 1_000
    days: int = 2
    part: int = 100
    limit: float = 300.0
    repeats: int = 3
    whole: bool = True


@dataclass(frozen=True, slots=True)
class ByHand:
    """The plan written by hand: over a handful of events, over all or a part of them; None where it did not end.

    `whole_why` and `why` say what kept it from ending: over all events, and over what was tried last.
    """

    part: int
    few: float | None
    seconds: float | None
    whole_why: str = ""
    why: str = ""

    @property
    def whole(self) -> float | None:
        """The time for all events: seen, or that for few and the rest of the part's time once for each part."""
        if self.seconds is None or self.few is None:
            return None
        return self.few + max(self.seconds - self.few, 0.0) * self.part if self.part > 1 else self.seconds


SKIPPED: Final = ByHand(1, None, None)


@dataclass(frozen=True, slots=True)
class Found:
    """What was seen: seconds of each query over all events, of ours over the part, and of window()."""

    seconds: Mapping[str, float]
    runs: Mapping[str, tuple[float, ...]]
    planning: float
    ways: str
    rows: int
    part_seconds: float
    by_hand: ByHand


def run(*, quick: bool, track: Track, events: int | None = None) -> Report:
    """Measure a million events of 1,000 visitors over two days, or a tenth of them; visitors grow with the events."""
    count = events or (100_000 if quick else Scale().events)
    keys = max(1, count // 1_000)
    return measure(Scale(count, keys, limit=120.0, repeats=1, whole=False) if quick else Scale(count, keys), track)


def measure(scale: Scale, track: Track, *, by_hand: bool = True) -> Report:
    """Run all queries; `by_hand=False` leaves window() out."""
    with session() as spark, tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder:
        make = partial(events.shop, spark, Path(folder), days=scale.days)
        whole = make("events", scale.events, scale.keys)
        part = make("part", max(1, scale.events // scale.part), max(1, scale.keys // scale.part))
        few = make("few", 10, 2)
        found: list[Found] = []
        waited: list[ByHand] = []
        jobs: list[Callable[[], None]] = [
            lambda: _agree(spark, part),
            lambda: waited.append(_by_hand(few, whole, part, scale) if by_hand else SKIPPED),
            lambda: found.append(_found(spark, whole, part, scale, waited[0])),
        ]
        for job in track(jobs, "forum"):
            job()
        told = settings(spark)
    return _report(scale, found[0], told)


def _agree(spark: SparkSession, part: str) -> None:
    """See that muntin's rows are those of OVER on every minute, where both give the same."""
    frame = spark.read.parquet(part)
    ours = fingerprint(features(frame).plan().run(wide=True))
    text, _ = OVER[SAME]
    if ours != fingerprint(_asked(spark, text, frame)):
        msg = f"the rows of muntin and of {SAME!r} differ over {part}"
        raise AssertionError(msg)


def _found(spark: SparkSession, whole: str, part: str, scale: Scale, by_hand: ByHand) -> Found:
    frame = spark.read.parquet(whole)
    ours, small = Planned(features(frame), wide=True), Planned(features(spark.read.parquet(part)), wide=True)
    tasks: dict[str, Callable[[], None]] = {OURS: ours}
    for name, (text, tree) in OVER.items():
        tasks[name] = partial(run_over, spark, text, frame, tree)
    timed = interleave(tasks, repeats=scale.repeats)
    return Found(
        {name: spread(each.seconds).median for name, each in timed.items()},
        {name: each.seconds for name, each in timed.items()},
        spread(ours.planning[-scale.repeats :]).median,
        ours.ways(),
        ours.plan.run(wide=True).count(),
        spread(interleave({OURS: small}, repeats=scale.repeats)[OURS].seconds).median,
        by_hand,
    )


def run_over(spark: SparkSession, text: Callable[[str], str], frame: DataFrame, tree: bool) -> None:
    """Run a query with Spark's segment tree for moving frames on or off."""
    with configured(spark, {TREE: str(tree).lower()}):
        sink(_asked(spark, text, frame))


def _asked(spark: SparkSession, text: Callable[[str], str], frame: DataFrame) -> DataFrame:
    return spark.sql(text("{events}"), events=frame)


def _by_hand(few: str, whole: str, part: str, scale: Scale) -> ByHand:
    """Time window() over all events and, where it does not end in time, over a part of them."""
    if not scale.whole:
        first, seconds, why = _limited(few, part, scale.limit)
        return ByHand(scale.part, first, seconds, "was not tried", why)
    first, seconds, whole_why = _limited(few, whole, scale.limit)
    # What does not end on a handful of events will not end on a part of them all.
    if seconds is not None or first is None or scale.part == 1:
        return ByHand(1, first, seconds, whole_why, whole_why)
    first, seconds, why = _limited(few, part, scale.limit)
    return ByHand(scale.part, first, seconds, whole_why, why)


def _limited(few: str, path: str, limit: float) -> tuple[float | None, float | None, str]:
    """Run in a process that is ended when its time is up, each of its runs having all the time; say why it did not end.

    A process that dies, for want of memory or otherwise, is not one that took too long.
    """
    spawn = multiprocessing.get_context("spawn")
    heard, told = spawn.Pipe(duplex=False)
    process = spawn.Process(target=native_seconds, args=(few, path, told), daemon=True)
    process.start()
    told.close()
    found: list[float] = []
    why = ""
    try:
        # The first answer comes after two runs over a handful of events: one is the warm-up.
        for allowed in (2 * limit, limit):
            if not heard.poll(allowed):
                why = f"did not end within {allowed:.0f} s" + ("" if found else ", not even on ten events")
                break
            found.append(heard.recv())
    except EOFError:
        process.join()
        why = f"failed with exit code {process.exitcode}"
    finally:
        process.kill()
        process.join()
    first, second = [*found, None, None][:2]
    return first, second, why


def _report(scale: Scale, found: Found, told: Mapping[str, Cell]) -> Report:
    ours = found.seconds[OURS]
    rows: list[tuple[Cell, ...]] = [(OURS, found.rows, ours, None, None, None)]
    for name in OVER:
        ratio = found.seconds[name] / ours
        count = {"OVER minutes, tree": found.rows, "OVER panes, tree": None}.get(name, scale.events)
        rows.append((name, count, found.seconds[name], ratio, OVER_GOAL, "yes" if ratio >= OVER_GOAL else "no"))
    hand = found.by_hand
    label = WHOLE if hand.part == 1 else EXTRAPOLATED
    ratio_by_hand = None if hand.whole is None else hand.whole / ours
    met = None if ratio_by_hand is None else "yes" if ratio_by_hand >= NATIVE_GOAL else "no"
    rows.append((label, found.rows, hand.whole, ratio_by_hand, NATIVE_GOAL, met))
    title = "Rolling counts each minute"
    measured: list[tuple[Cell, ...]] = [
        (name, number, taken) for name, runs in found.runs.items() for number, taken in enumerate(runs)
    ]
    measured += [
        (f"{OURS}, median over 1/{scale.part}", 0, found.part_seconds),
        (f"window(), 1/{hand.part} of the events", 0, hand.seconds),
        ("window(), ten events", 0, hand.few),
    ]
    return Report(
        "forum",
        title,
        {
            "events": scale.events,
            "visitors": scale.keys,
            "days": scale.days,
            "features": "counts of 3 types over 1 h, 12 h and 24 h, each minute",
            "runs": scale.repeats,
            "limit of window() (s)": scale.limit,
            "sink": "noop",
            **told,
        },
        (
            Table("All events", ("query", "rows", "seconds", "muntin's x", "goal", "met"), tuple(rows)),
            _part_table(scale, found),
        ),
        Table("measurements", ("query", "run", "seconds"), tuple(measured)),
        _chart(title, found, label),
        (
            "What each computes. muntin and window(): a row for each visitor and minute whose last 24 h hold an "
            "event, nine counts in it. `OVER minutes`: the same rows, from a row for every minute of every visitor, "
            "joined with the minutes that have events; its rows were compared with muntin's over a part of the "
            "events. `OVER panes`: a row only for minutes with an event. `OVER events`: a row for each event, its "
            "windows ending at the event and not at the minute.",
            f"muntin ran by {found.ways}; {found.planning:.2f} s of its time is planning. `tree` is {TREE}=true.",
            _told_by_hand(hand),
        ),
    )


def _part_table(scale: Scale, found: Found) -> Table:
    hand = found.by_hand
    ours = found.part_seconds if hand.part > 1 else found.seconds[OURS]
    ratio = None if hand.seconds is None else hand.seconds / ours
    rows: tuple[tuple[Cell, ...], ...] = (
        (OURS, ours, None),
        ("window()", hand.seconds, ratio),
        ("window() over ten events", hand.few, None),
    )
    size = "All events" if hand.part == 1 else f"1/{hand.part} of the visitors and events"
    return Table(f"{size}: as measured", ("query", "seconds", "muntin's x"), rows)


def _told_by_hand(hand: ByHand) -> str:
    if hand == SKIPPED:
        return "window() was left out."
    if not hand.whole_why:
        return "window() ended on all events, so its time is as measured."
    said = f"window() over all events {hand.whole_why}."
    if hand.part == 1:
        return said
    if hand.seconds is None:
        return f"{said} Over 1/{hand.part} of the visitors it {hand.why}."
    return (
        f"{said} Its time for all is extrapolated from 1/{hand.part} of the visitors: what it takes for ten events, "
        f"nearly all of it planning, is counted once, and the rest {hand.part} times. The part's time taken "
        f"{hand.part} times would be {hand.seconds * hand.part:,.0f} s."
    )


def _chart(title: str, found: Found, label: str) -> Chart:
    seconds = dict(found.seconds) | ({label: found.by_hand.whole} if found.by_hand.whole else {})
    places = tuple(name.replace(", ", "\n") for name in seconds)
    return Chart(title, "seconds", (Panel("All events", places, (Series("time", tuple(seconds.values())),)),), log=True)
