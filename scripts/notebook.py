"""Run examples/plans.ipynb and write what it shows into it, as a reader on a site of repositories sees it.

Such sites show drawings, and of HTML only tables: of an output that has both, the drawing is kept. In a notebook that
runs, a plan shows itself as HTML, with its tables and in the colours of the theme.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import nbformat
from nbclient import NotebookClient

NOTEBOOK: Final = Path(__file__).parents[1] / "examples" / "plans.ipynb"
_SECONDS: Final = 600


def executed(folder: Path, path: Path = NOTEBOOK) -> Any:
    """Run all cells with this Python, in a folder; what a cell raises is raised here."""
    book = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    client = NotebookClient(
        book, timeout=_SECONDS, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return book


def drawn(book: Any) -> Any:
    """Keep of outputs with several forms the drawing, and of cells nothing that differs from run to run."""
    for cell in book.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            # What Spark says as it starts names the machine.
            cell.outputs = [output for output in cell.outputs if output.output_type != "stream"]
        for output in cell.get("outputs", []):
            if "image/svg+xml" in output.get("data", {}):
                output["data"].pop("text/html", None)
    return book


if __name__ == "__main__":
    nbformat.write(drawn(executed(Path.cwd())), NOTEBOOK)  # type: ignore[no-untyped-call]
    sys.stdout.write(f"wrote {NOTEBOOK}\n")
