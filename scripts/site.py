"""Build the documents as a site: `python -m scripts.site [DIRECTORY]`, what `make docs` does. Warnings are errors.

The README is the front page and the changelog its last one. Both lie beside docs/ and not in it, so all pages are
gathered in one folder first, and links between them follow.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
FRONT: Final = {"README.md": "index.md", "CHANGELOG.md": "changes.md"}
_LINK: Final = re.compile(r"(?<=\]\()(?!\w+:)([^)#\s]+)(?=[)#])")


def gather(folder: Path) -> None:
    """Copy all pages into one folder, with links that lead from where they are now."""
    shutil.copytree(ROOT / "docs", folder)
    for name, front in FRONT.items():
        shutil.copy(ROOT / name, folder / front)
    for page in folder.glob("*.md"):
        text = _LINK.sub(_moved, page.read_text(encoding="utf-8"))
        # GitHub colours a session as Python; the site knows its prompts apart, and leaves them out of what is copied.
        text = text.replace("```python\n>>>", "```pycon\n>>>")
        # What doctest must be told of, a reader sees.
        page.write_text(text.replace("<BLANKLINE>", ""), encoding="utf-8")


def build(site: Path) -> subprocess.CompletedProcess[str]:
    """Build the site; the return code is not 0 where a link or an anchor leads nowhere."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        gather(place / "docs")
        shutil.copy(ROOT / "mkdocs.yml", place)
        command = [sys.executable, "-m", "zensical", "build", "--strict"]
        ended = subprocess.run(command, cwd=place, text=True, capture_output=True, check=False)
        if ended.returncode == 0:
            shutil.rmtree(site, ignore_errors=True)
            shutil.copytree(place / "site", site)
    return ended


def _moved(link: re.Match[str]) -> str:
    """Lead a link from the old place of its page to the new one.

    >>> [_LINK.sub(_moved, f"[x]({to})") for to in ("docs/batch.md#run", "../CHANGELOG.md", "images/event.svg")]
    ['[x](batch.md#run)', '[x](changes.md)', '[x](images/event.svg)']
    """
    target = link[1].removeprefix("../").removeprefix("docs/")
    return FRONT.get(target, target)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "site"
    done = build(target)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    if done.returncode == 0:
        print(f"muntin: the site is {target / 'index.html'}; with its search: python -m http.server -d {target}")
    sys.exit(done.returncode)
