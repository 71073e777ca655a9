"""What a manager knows, on disk beside its checkpoint: every version whole, written before it takes effect."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from muntin.duration import format_duration
from muntin.errors import ManagerError, StateError
from muntin.manager.asked import Asked
from muntin.manager.history import Epoch, Position, edges_of, first_start, pruned, reach_of
from muntin.stream.differ import difference
from muntin.window.edges import Comb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from muntin.window.spec import Window

FORMAT: Final = 1
_KEPT: Final = 16
_SUFFIX: Final = ".json"


@dataclass(frozen=True, slots=True)
class Shape:
    """What slices are like under some queries."""

    computed: tuple[Window, ...]
    cut: tuple[Window, ...]
    """The windows at whose edges slices begin."""
    columns: tuple[tuple[str, Any], ...]
    """The partials' columns: names, and types as Spark's JSON."""
    needs: Mapping[str, frozenset[str]]
    """The columns that each query needs."""
    retain: int

    def epoch(self, horizon: int | None) -> Epoch:
        """Say how slices are cut and kept from a horizon on."""
        names = frozenset(name for name, _ in self.columns)
        return Epoch(horizon, edges_of(self.cut), names, reach_of(self.computed, self.retain))


@dataclass(frozen=True, slots=True)
class Version:
    """All queries between two changes, and what is needed to read the state that earlier ones wrote."""

    number: int = 0
    queries: tuple[Asked, ...] = ()
    now: Position = field(default_factory=lambda: Position(-1))
    """How far the stream had come when it took effect."""
    forms: tuple[tuple[tuple[str, Any], ...], ...] = ()
    """The partials' columns of all versions so far, each set of them once: names, and types as Spark's JSON."""
    form: int = 0
    """Which of them this version writes."""
    epochs: tuple[Epoch, ...] = ()

    @property
    def running(self) -> tuple[Asked, ...]:
        """The queries that are computed."""
        return tuple(query for query in self.queries if query.running)

    def followed(self, queries: Sequence[Asked], now: Position, shape: Shape | None) -> Version:
        """Make the next version: settle where new windows start, and what slices look like from now on.

        `shape` is None where no query runs.
        """
        if shape is None:
            return replace(self, number=self.number + 1, queries=tuple(queries), now=now)
        placed = []
        for query in queries:
            if query.running and not query.starts:
                needs = shape.needs[query.name]
                query = query.started([first_start(window, needs, self.epochs, now) for window in query.windows])
            placed.append(query)
        self.check(shape)
        forms = self.forms if shape.columns in self.forms else (*self.forms, shape.columns)
        # As long as no event has come, there is nothing that an earlier version could have left.
        earlier = () if now.horizon is None else pruned(self.epochs, now)
        epochs = (*earlier, shape.epoch(now.horizon))
        return Version(self.number + 1, tuple(placed), now, forms, forms.index(shape.columns), epochs)

    def fits(self, shape: Shape) -> bool:
        """Tell whether slices are as the last version left them: not, where they are kept for another time now."""
        last = self.epochs[-1]
        return shape.columns == self.forms[self.form] and shape.epoch(last.horizon) == last

    def check(self, shape: Shape | None) -> None:
        """Refuse partials of another type than slices in the state may have."""
        known = {name: kind for form in self.forms for name, kind in form}
        for name, kind in () if shape is None else shape.columns:
            if known.get(name, kind) != kind:
                msg = (
                    f"the stream's columns are not what they were: the partial {name} was {known[name]} and is {kind} "
                    "now. Give the stream the columns it had, or start with a new checkpoint"
                )
                raise ManagerError(msg)

    def find(self, name: str) -> Asked:
        """Find a query."""
        for query in self.queries:
            if query.name == name:
                return query
        known = ", ".join(query.name for query in self.queries)
        msg = f"there is no query {name!r}: {f'known are {known}' if known else 'none is registered'}"
        raise ManagerError(msg)

    def to_dict(self) -> dict[str, Any]:
        """Give it as values that JSON can hold."""
        return {
            "version": self.number,
            "now": list(self.now),
            "queries": [query.to_dict() for query in self.queries],
            "forms": [[list(column) for column in form] for form in self.forms],
            "form": self.form,
            "epochs": [
                {
                    "horizon": epoch.horizon,
                    "combs": [[comb.step, comb.phase] for comb in epoch.combs],
                    "columns": sorted(epoch.columns),
                    "reach": epoch.reach,
                }
                for epoch in self.epochs
            ],
        }

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> Version:
        """Read it back."""
        epochs = [
            Epoch(e["horizon"], tuple(Comb(*comb) for comb in e["combs"]), frozenset(e["columns"]), e["reach"])
            for e in said["epochs"]
        ]
        return cls(
            said["version"],
            tuple(map(Asked.from_dict, said["queries"])),
            Position(*said["now"]),
            tuple(tuple((name, kind) for name, kind in form) for form in said["forms"]),
            said["form"],
            tuple(epochs),
        )


class Registry:
    """A folder of versions, held by one manager at a time.

    `identity` is what all versions have in common: one that differs from what is on disk is refused.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self.folder, self.identity = folder, dict(identity)
        self._lock = _locked(folder)
        try:
            self.version = self._last()
        except BaseException:
            self.close()
            raise

    def write(self, version: Version) -> None:
        """Keep a version for good: after this call it is what a restart finds, before it the one before."""
        if version.number != self.version.number + 1:
            msg = f"version {version.number} cannot follow version {self.version.number}"
            raise ManagerError(msg)
        body = {"format": FORMAT, "identity": self.identity, **version.to_dict()}
        path = self._path(version.number)
        write_whole(path, json.dumps({"sha256": _digest(body), **body}, indent=1))
        self.version = version
        for old in self._numbers()[:-_KEPT]:
            self._path(old).unlink(missing_ok=True)

    def close(self) -> None:
        """Let another manager have the folder."""
        os.close(self._lock)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:010}{_SUFFIX}"

    def _numbers(self) -> list[int]:
        return sorted(int(path.stem) for path in self.folder.glob(f"*{_SUFFIX}") if path.stem.isdigit())

    def _last(self) -> Version:
        numbers = self._numbers()
        if not numbers:
            return Version()
        path = self._path(numbers[-1])
        try:
            said: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            digest = said.pop("sha256")
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            msg = f"{path} cannot be read: {error}. Put it back from a copy"
            raise StateError(msg) from error
        if said.get("format") != FORMAT:
            msg = (
                f"{path} has format {said.get('format')}, and this muntin reads {FORMAT}. "
                "Go on with the muntin that wrote it, or start with a new checkpoint"
            )
            raise StateError(msg)
        if digest != _digest(said):
            msg = f"{path} is damaged: its contents do not go with their checksum. Put it back from a copy"
            raise StateError(msg)
        if said["identity"] != self.identity:
            told = difference(
                _named(said["identity"]), _named(self.identity), "Go on as before, or start with a new checkpoint"
            )
            raise ManagerError(told.replace("belongs to another query", "is of another manager"))
        return Version.from_dict(said)


def write_whole(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file such that a crash leaves it whole, or as it was."""
    draft = path.with_name(f".{path.name}.tmp")
    draft.unlink(missing_ok=True)
    number = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(number, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _locked(folder: Path) -> int:
    """Hold a folder as long as the process lives: the system lets go of it even after kill -9."""
    try:
        # Not at the top: the rest of the package runs on Windows too, which has no such lock.
        import fcntl
    except ImportError as error:
        msg = "a manager locks its checkpoint by flock, which this system does not have: run it on Linux or macOS"
        raise ManagerError(msg) from error
    lock = folder / "lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        number = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        msg = f"cannot keep the registry in {folder}: {error.strerror}. Give a checkpoint that may be written to"
        raise ManagerError(msg) from error
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = lock.read_text(encoding="utf-8").strip()
        os.close(number)
        msg = (
            f"another manager{f' (process {holder})' if holder else ''} runs on {folder.parent}: a checkpoint has one "
            "manager. Stop that one first, or give this one a checkpoint of its own"
        )
        raise ManagerError(msg) from error
    os.ftruncate(number, 0)
    os.write(number, f"{os.getpid()}\n".encode())
    return number


def _named(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Write an identity as people read it."""
    late = identity.get("watermark")
    return {**identity, "watermark": format_duration(late)} if isinstance(late, int) else dict(identity)


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
