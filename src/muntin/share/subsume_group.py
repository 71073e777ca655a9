"""Groups of windows that are nested in one another: what the window manager plans, as values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from muntin.errors import WindowError
from muntin.share.subsume_draw import to_svg
from muntin.share.subsume_text import to_dict, to_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muntin.window.spec import Window

Role: TypeAlias = Literal["seed", "enclosing", "piggybacked"]


@dataclass(frozen=True, slots=True)
class Piggybacked:
    """A window with the range of its host, given one of `quotient` results of it."""

    window: Window
    quotient: int


@dataclass(frozen=True, slots=True)
class Level:
    """A window that keeps a substate, and those that need none because they read its results."""

    window: Window
    piggybacked: tuple[Piggybacked, ...] = ()

    def hosts(self, *windows: Window) -> Level:
        """Annotate the level with more windows of its range."""
        slide = self.window.slide
        return replace(
            self, piggybacked=self.piggybacked + tuple(Piggybacked(each, each.slide // slide) for each in windows)
        )


@dataclass(frozen=True, slots=True)
class Group:
    """Levels by increasing range, each subsumable under the next; the first is the seed."""

    number: int
    levels: tuple[Level, ...]

    @property
    def seed(self) -> Window:
        """The window at the bottom."""
        return self.levels[0].window

    @property
    def slide(self) -> int:
        """The base slide, of which every slide in the group is a multiple."""
        return self.seed.slide

    @property
    def windows(self) -> tuple[Window, ...]:
        """All windows, each level followed by those that ride on it."""
        return tuple(window for window, _ in self.roles())

    def roles(self) -> Iterator[tuple[Window, Role]]:
        """Go through the windows, and say what each is."""
        for index, level in enumerate(self.levels):
            yield level.window, "enclosing" if index else "seed"
            for each in level.piggybacked:
                yield each.window, "piggybacked"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a window stands: its group, the level that serves it, and what it is there."""

    group: Group
    level: int
    role: Role


@dataclass(frozen=True, slots=True)
class Grouping:
    """Every window in one group; `made` counts the groups ever made, so that no number comes twice.

    `names` are the ids of all windows, to find a duplicate without going through them.
    """

    groups: tuple[Group, ...] = ()
    made: int = 0
    names: frozenset[str] = frozenset()

    @property
    def windows(self) -> tuple[Window, ...]:
        """All windows, group by group."""
        return tuple(window for group in self.groups for window in group.windows)

    def find(self, name: str) -> Place:
        """Find a window by its id.

        >>> from muntin import Window
        >>> from muntin.share.subsume import subsume_windows
        >>> place = subsume_windows([Window(8, 2, id="d"), Window(8, 4, id="u")]).find("u")
        >>> place.group.number, place.level, place.role
        (1, 0, 'piggybacked')
        """
        for group in self.groups:
            for index, level in enumerate(group.levels):
                if level.window.id == name:
                    return Place(group, index, "enclosing" if index else "seed")
                if any(each.window.id == name for each in level.piggybacked):
                    return Place(group, index, "piggybacked")
        known = ", ".join(repr(window.id) for window in self.windows[:8])
        msg = f"there is no window {name!r} in any group. Known are {known or 'none'}"
        raise WindowError(msg)

    def with_new(self, *sequences: tuple[Level, ...]) -> Grouping:
        """Append a group for each sequence of levels."""
        new = [Group(self.made + i, levels) for i, levels in enumerate(sequences, start=1)]
        names = self.names.union(window.id for group in new for window in group.windows)
        return Grouping((*self.groups, *new), self.made + len(sequences), names)

    def with_levels(self, number: int, levels: tuple[Level, ...], *, change: str) -> Grouping:
        """Give a group other levels, with one window more or less, `change`; without any levels it is gone."""
        groups = (replace(group, levels=levels) if group.number == number else group for group in self.groups)
        return Grouping(tuple(group for group in groups if group.levels), self.made, self.names ^ {change})

    def explain(self, *, limit: int | None = 60) -> str:
        """Tell the groups as text; of many windows the first `limit`."""
        return to_text(self, limit=limit)

    def to_svg(self) -> str:
        """Draw the groups over range and slide, as the paper's Figure 7 does."""
        return to_svg(self)

    def to_dict(self) -> dict[str, Any]:
        """Give the groups as plain values."""
        return to_dict(self)

    def __iter__(self) -> Iterator[Group]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def __str__(self) -> str:
        return self.explain()

    def _repr_svg_(self) -> str | None:
        # Where nothing is there to be drawn, a notebook shows the text.
        return to_svg(self) if self.groups else None

    def _repr_html_(self) -> str | None:
        drawing = self._repr_svg_()
        return None if drawing is None else f'<div style="overflow-x:auto;background:white">{drawing}</div>'
