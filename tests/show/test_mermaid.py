from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from muntin import LogicalPlan

PAPER = """\
flowchart LR
    e0(["events"])
    n0_0["10m<br/>factor<br/>12 x 10 = 120"]
    n0_1["20m<br/>tumbling_20m<br/>6 x 2 = 12"]
    n0_2["40m<br/>tumbling_40m<br/>3 x 2 = 6"]
    n0_3["30m<br/>tumbling_30m<br/>4 x 3 = 12"]
    e0 -->|"10"| n0_0
    n0_0 -->|"2"| n0_1
    n0_1 -->|"2"| n0_2
    n0_0 -->|"3"| n0_3
    classDef factor fill:#fdf0dc,stroke:#b45309,color:#1f2933,stroke-dasharray:5 4
    class n0_0 factor"""

# What a line of a flowchart may be; the text between quotes holds no quote and nothing that ends it.
TEXT = r'"(?:[^"`<>\[\]{}|;#]|#\d+;|<br/>)*"'
LINE = re.compile(
    rf"flowchart LR|subgraph g\d+\[{TEXT}\]|direction LR|end|e\d+\(\[{TEXT}\]\)|n\d+_\d+\[{TEXT}\]"
    rf"|(?:e\d+|n\d+_\d+) -->\|{TEXT}\| n\d+_\d+|classDef factor [^;\n]+|class n\d+_\d+(?:,n\d+_\d+)* factor"
)


def test_the_papers_example(paper: LogicalPlan) -> None:
    assert paper.to_mermaid() == PAPER


@pytest.mark.parametrize("name", ["paper", "several", "nasty", "fractions", "huge"])
def test_every_line_is_of_a_known_form(name: str, request: pytest.FixtureRequest) -> None:
    plan: LogicalPlan = request.getfixturevalue(name)
    text = plan.to_mermaid()
    for line in text.splitlines():
        assert LINE.fullmatch(line.strip()), line
    nodes = sum(len(group.forest.nodes) for group in plan.groups)
    assert len(re.findall(r"^ +n\d+_\d+\[", text, re.MULTILINE)) == nodes
    assert text.count("-->") == nodes


def test_groups_are_subgraphs(several: LogicalPlan) -> None:
    text = several.to_mermaid()
    assert re.findall(r"subgraph g\d+\[\"([\w, ]+): ", text) == ["min, sum", "median"]
    assert text.count("\n    end") == 2


def test_ids_cannot_break_out(nasty: LogicalPlan) -> None:
    text = nasty.to_mermaid()
    assert "a#60;b#62;#38;#34;c#34;#39;d#39;, twin" in text
    assert "<script" not in text
