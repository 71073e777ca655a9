from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from itertools import pairwise
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import Window, hopping, tumbling
from muntin.errors import ShowError, WindowError
from muntin.share.subsume import ending_at_slides, separate, slides_with, subsumable, subsume_windows
from muntin.share.subsume_embed import embed_window
from muntin.share.subsume_group import Group, Grouping
from muntin.share.subsume_revoke import revoke_window

Scope: TypeAlias = tuple[int, int]

# Figure 7 as far as the text places its nodes. It gives v, z and k in full, d's slide of 2 (u takes over at 4, a double
# pace), that b, h and f share a prime slide and e has the double, that k stands between p and y. The rest is chosen.
PAPER = (
    Window(8, 2, id="d"),
    Window(8, 4, id="u"),
    Window(24, 8, id="v"),
    Window(6, 3, id="r"),
    Window(15, 3, id="p"),
    Window(24, 6, id="y"),
    Window(10, 5, id="b"),
    Window(15, 5, id="h"),
    Window(20, 5, id="f"),
    Window(30, 10, id="e"),
    Window(32, 4, id="z"),
)
scopes = st.builds(
    lambda slide, times, more: (slide * times + more % slide, slide),
    st.sampled_from([1, 2, 3, 4, 5, 6, 8, 9, 10, 12]),
    st.integers(1, 5),
    st.sampled_from([0, 0, 1, 2]),
)


def levels(group: Group) -> list[str]:
    return [level.window.id for level in group.levels]


def riders(group: Group) -> dict[str, list[tuple[str, int]]]:
    return {
        level.window.id: [(each.window.id, each.quotient) for each in level.piggybacked]
        for level in group.levels
        if level.piggybacked
    }


def check_valid(grouping: Grouping) -> None:
    names = [window.id for window in grouping.windows]
    assert len(names) == len(set(names))
    assert len({group.number for group in grouping}) == len(grouping)
    for group in grouping:
        for below, level in pairwise(group.levels):
            assert below.window.range < level.window.range
            assert subsumable(below.window, level.window)
        for level in group.levels:
            for each in level.piggybacked:
                assert each.window.range == level.window.range
                assert slides_with(each.window, level.window)
                assert each.quotient * level.window.slide == each.window.slide


class TestPaper:
    def test_seeds_are_windows_that_fit_no_group(self) -> None:
        grouping = subsume_windows(PAPER)
        check_valid(grouping)
        assert sorted(group.seed.id for group in grouping) == ["b", "d", "r", "z"]

    def test_windows_with_one_slide_stand_on_consecutive_stairs_and_a_double_step_encloses_them(self) -> None:
        place = subsume_windows(PAPER).find("e")
        assert place.role == "enclosing"
        assert levels(place.group) == ["b", "h", "f", "e"]

    def test_u_is_piggybacked_on_d_at_every_other_step(self) -> None:
        group = subsume_windows(PAPER).find("u").group
        assert (levels(group), riders(group)) == (["d", "v"], {"d": [("u", 2)]})

    @pytest.mark.parametrize("late", [False, True], ids=["from the start", "submitted later"])
    def test_z_becomes_a_seed_since_v_precedes_it(self, late: bool) -> None:
        grouping = embed_window(subsume_windows(PAPER[:-1]), PAPER[-1]) if late else subsume_windows(PAPER)
        place = grouping.find("z")
        assert (place.role, levels(place.group)) == ("seed", ["z"])

    def test_k_is_placed_between_p_and_y(self) -> None:
        grouping = embed_window(subsume_windows(PAPER), Window(21, 3, id="k"))
        check_valid(grouping)
        assert levels(grouping.find("k").group) == ["r", "p", "k", "y"]

    def test_u_takes_over_as_seed_when_d_is_suspended(self) -> None:
        before = subsume_windows(PAPER)
        after = revoke_window(before, "d")
        check_valid(after)
        group = after.find("u").group
        assert (group.number, group.slide, levels(group), riders(group)) == (
            before.find("u").group.number,
            4,
            ["u", "v"],
            {},
        )
        assert [levels(each) for each in after if each.number != group.number] == [
            levels(each) for each in before if each.number != group.number
        ]

    def test_an_enclosing_window_and_a_piggybacked_one_leave_without_a_trace(self) -> None:
        grouping = revoke_window(revoke_window(subsume_windows(PAPER), "h"), "u")
        assert levels(grouping.find("b").group) == ["b", "f", "e"]
        assert riders(grouping.find("d").group) == {}


class TestDefinition:
    @settings(deadline=None)
    @given(scopes, scopes)
    def test_is_the_papers_where_windows_end_at_slides(self, inner: Scope, outer: Scope) -> None:
        expected = outer[1] % inner[1] == 0 and outer[0] >= inner[0]
        assert subsumable(ending_at_slides(*inner), ending_at_slides(*outer)) == expected

    @settings(deadline=None)
    @given(scopes, scopes, st.integers(0, 12), st.integers(0, 12))
    def test_every_state_of_the_outer_window_contains_the_newest_of_the_inner(
        self, one: Scope, other: Scope, shift: int, other_shift: int
    ) -> None:
        inner, outer = Window(*one, shift), Window(*other, other_shift)
        period = inner.slide * outer.slide
        states = list(outer.intervals(0, 2 * period + outer.range))
        ends = {interval.end for interval in inner.intervals(-inner.range, states[-1].end + 1)}
        nested = all(state.end in ends and state.start <= state.end - inner.range for state in states)
        assert subsumable(inner, outer) == nested


class TestSubsumeWindows:
    @settings(deadline=None)
    @given(st.lists(scopes, min_size=1, max_size=30))
    def test_is_algorithm_1(self, pool: list[Scope]) -> None:
        grouping = subsume_windows([ending_at_slides(*scope, f"w{i}") for i, scope in enumerate(pool)])
        check_valid(grouping)
        assert len(grouping.windows) == len(pool)
        found = [
            [
                ((level.window.range, level.window.slide), [each.quotient for each in level.piggybacked])
                for level in group.levels
            ]
            for group in grouping
        ]
        assert found == by_the_letter(pool)

    def test_windows_that_are_the_same_ride_on_the_first(self) -> None:
        (group,) = subsume_windows([Window(8, 2, id="one"), Window(8, 2, id="two"), Window(8, 2, id="three")])
        assert riders(group) == {"one": [("two", 1), ("three", 1)]}

    def test_windows_that_slide_at_other_times_are_apart(self) -> None:
        assert len(subsume_windows([Window(8, 2), Window(12, 2, offset=1)])) == 2

    def test_separate_puts_each_window_alone(self) -> None:
        assert [levels(group) for group in separate(PAPER[:3])] == [["d"], ["u"], ["v"]]

    @pytest.mark.parametrize(
        ("pool", "said"),
        [
            ([], "the window set is empty"),
            ([Window(8, 2), Window(8, 2)], "stands twice"),
            ([Window(8, 2), tumbling("1h")], "cannot stand in one set"),
            (["8/2"], "expected a window"),
        ],
    )
    def test_refuses(self, pool: list[Window], said: str) -> None:
        with pytest.raises(WindowError, match=said):
            subsume_windows(pool)


def by_the_letter(pool: list[Scope]) -> list[list[tuple[Scope, list[int]]]]:
    """Follow Lines 1 to 29 as they stand, on pairs of range and slide."""
    grouping: list[list[tuple[Scope, list[int]]]] = []
    for size, slide in sorted(pool):
        candidates = [group for group in grouping if slide % group[0][0][1] == 0]
        for group in sorted(candidates, key=lambda group: -group[0][0][1]):
            (last_size, last_slide), quotients = group[-1]
            if slide % last_slide == 0:
                if size == last_size:
                    quotients.append(slide // last_slide)
                    break
                if size > last_size:
                    group.append(((size, slide), []))
                    break
        else:
            grouping.append([((size, slide), [])])
    return grouping


class TestEmbed:
    @settings(deadline=None)
    @given(st.lists(scopes, min_size=1, max_size=25))
    def test_keeps_groups_valid_and_all_windows_in_them(self, pool: list[Scope]) -> None:
        grouping = Grouping()
        for i, scope in enumerate(pool):
            before, grouping = grouping, embed_window(grouping, ending_at_slides(*scope, f"w{i}"))
            check_valid(grouping)
            assert sorted(w.id for w in grouping.windows) == sorted(f"w{j}" for j in range(i + 1))
            # One group at most is touched.
            untouched = {group.number for group in before} - {grouping.find(f"w{i}").group.number}
            assert all(group in grouping.groups for group in before if group.number in untouched)

    def test_goes_into_the_group_with_the_longest_base_slide(self) -> None:
        grouping = subsume_windows([Window(6, 2, id="two"), Window(6, 3, id="three")])
        assert embed_window(grouping, Window(12, 6, id="new")).find("new").group.seed.id == "three"

    def test_does_not_stand_on_a_level_that_has_not_slid(self) -> None:
        # Lines 37 and 38 look at the wider window alone, and would put it between the two.
        grouping = subsume_windows([Window(4, 2, id="below"), Window(8, 4, id="above")])
        assert embed_window(grouping, Window(6, 1, id="new")).find("new").role == "seed"

    def test_may_become_the_seed_of_a_group(self) -> None:
        grouping = embed_window(subsume_windows([Window(8, 4, id="old")]), Window(6, 2, id="new"))
        assert levels(grouping.groups[0]) == ["new", "old"]

    def test_rides_on_a_level_of_its_range_whatever_stands_above(self) -> None:
        grouping = subsume_windows([Window(8, 2, id="host"), Window(10, 2, id="above")])
        assert riders(embed_window(grouping, Window(8, 4, id="new")).groups[0]) == {"host": [("new", 2)]}

    def test_takes_the_place_of_a_coarser_window_of_its_range(self) -> None:
        grouping = subsume_windows([Window(8, 4, id="host"), Window(8, 8, id="rider"), Window(12, 4, id="above")])
        (group,) = embed_window(grouping, Window(8, 2, id="new"))
        assert (levels(group), riders(group)) == (["new", "above"], {"new": [("host", 2), ("rider", 4)]})

    @pytest.mark.parametrize(
        ("window", "said"),
        [(Window(9, 3, id="d"), "'d' stands twice"), (hopping("1h", "1m"), "cannot be grouped")],
    )
    def test_refuses(self, window: Window, said: str) -> None:
        with pytest.raises(WindowError, match=said):
            embed_window(subsume_windows(PAPER), window)


class TestRevoke:
    @settings(deadline=None)
    @given(st.lists(scopes, min_size=1, max_size=25), st.randoms(use_true_random=False))
    def test_keeps_groups_valid_to_the_last_window(self, pool: list[Scope], random: object) -> None:
        grouping = subsume_windows([ending_at_slides(*scope, f"w{i}") for i, scope in enumerate(pool)])
        names = [window.id for window in grouping.windows]
        random.shuffle(names)  # type: ignore[attr-defined]
        while names:
            gone = names.pop()
            place = grouping.find(gone).group.number
            before, grouping = grouping, revoke_window(grouping, gone)
            check_valid(grouping)
            assert sorted(w.id for w in grouping.windows) == sorted(names)
            assert all(group in grouping.groups for group in before if group.number != place)
        assert grouping.groups == ()

    def test_the_smallest_slide_inherits_and_keeps_those_that_follow_it(self) -> None:
        pool = [Window(24, 2, id="host"), Window(24, 8, id="c"), Window(24, 4, id="a"), Window(24, 6, id="b")]
        grouping = revoke_window(subsume_windows(pool), "host")
        # b follows the host, but not the heir: it leaves for a group of its own.
        assert [(levels(group), riders(group)) for group in grouping] == [(["a"], {"a": [("c", 2)]}), (["b"], {})]

    def test_the_heir_must_suit_the_level_above(self) -> None:
        pool = [Window(24, 2, id="host"), Window(24, 4, id="a"), Window(24, 6, id="b"), Window(30, 6, id="above")]
        grouping = revoke_window(subsume_windows(pool), "host")
        assert [levels(group) for group in grouping] == [["b", "above"], ["a"]]

    def test_without_an_heir_the_level_is_gone(self) -> None:
        pool = [Window(24, 2, id="host"), Window(24, 4, id="a"), Window(26, 2, id="above")]
        grouping = revoke_window(subsume_windows(pool), "host")
        assert [levels(group) for group in grouping] == [["above"], ["a"]]

    def test_refuses_an_unknown_window(self) -> None:
        with pytest.raises(WindowError, match=r"no window 'x' in any group\. Known are 'd'"):
            revoke_window(subsume_windows(PAPER[:1]), "x")


class TestShown:
    def test_text_tells_the_papers_groups(self) -> None:
        assert subsume_windows(PAPER).explain() == "\n".join(
            [
                "11 windows in 4 groups, 10 levels",
                "",
                "group 1: slide 3, ranges 6 to 24, 3 levels, 3 windows",
                "  r   6/3  seed",
                "  p  15/3  encloses r: in tandem",
                "  y  24/6  encloses p: 1 of 2 slides",
                "group 2: slide 2, ranges 8 to 24, 2 levels, 3 windows",
                "  d   8/2  seed",
                "  u   8/4  piggybacked on d: 1 of 2 results",
                "  v  24/8  encloses d: 1 of 4 slides",
                "group 3: slide 5, ranges 10 to 30, 4 levels, 4 windows",
                "  b   10/5  seed",
                "  h   15/5  encloses b: in tandem",
                "  f   20/5  encloses h: in tandem",
                "  e  30/10  encloses f: 1 of 2 slides",
                "group 4: slide 4, range 32, 1 level, 1 window",
                "  z  32/4  seed",
            ]
        )

    def test_text_keeps_to_its_width_and_limit(self) -> None:
        pool = [hopping("1d", f"{m}m", id=f"{'long name ' * 5}{m}") for m in (1, 2, 3, 4, 6, 8, 12)]
        text = subsume_windows(pool).explain(limit=3)
        assert max(map(len, text.splitlines())) <= 100
        assert text.splitlines()[-1] == "  ... 4 more (limit=None shows all)"
        assert subsume_windows(pool).explain(limit=None).count("\n  long name") == 7
        assert Grouping().explain() == "0 windows in 0 groups, 0 levels"
        with pytest.raises(ShowError, match="limit must be"):
            subsume_windows(pool).explain(limit=0)

    def test_drawing_has_a_node_for_each_window_and_the_quotient_of_u(self) -> None:
        root = ET.fromstring(subsume_windows(PAPER).to_svg())
        texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
        assert {window.id for window in PAPER} <= set(texts)
        assert texts.count("q=2") == 1
        circles = list(root.iter("{http://www.w3.org/2000/svg}circle"))
        assert len(circles) == len(PAPER)
        assert sum(circle.get("fill") != "#ffffff" for circle in circles) == 4

    def test_drawing_of_many_windows_or_awkward_names_is_well_formed(self) -> None:
        many = [ending_at_slides(size, slide, f"w{size}/{slide}") for size in range(2, 40) for slide in range(1, size)]
        root = ET.fromstring(subsume_windows(many).to_svg())
        assert len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) == len(many)
        ET.fromstring(subsume_windows([hopping("1h", "1m", id="<&\x00\u202e>")]).to_svg())
        with pytest.raises(ShowError, match="nothing to draw"):
            Grouping().to_svg()

    def test_several_groups_at_one_place_stand_apart(self) -> None:
        root = ET.fromstring(subsume_windows([Window(8, 2, id="even"), Window(8, 2, offset=1, id="odd")]).to_svg())
        circles = [(c.get("cx"), c.get("cy")) for c in root.iter("{http://www.w3.org/2000/svg}circle")]
        assert len(set(circles)) == 2

    def test_values_can_be_written_as_json(self) -> None:
        found = json.loads(json.dumps(subsume_windows(PAPER).to_dict()))
        assert found["windows"] == 11
        assert found["groups"][1]["levels"][0]["piggybacked"] == [
            {"id": "u", "range": 8, "slide": 4, "offset": 0, "quotient": 2}
        ]
