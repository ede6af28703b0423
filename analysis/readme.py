"""Keep what the README and docs say of results true: ``python -m analysis.readme`` writes it anew.

Text between ``<!-- name: begin -->`` and ``<!-- name: end -->`` is made from the tables in ``results``; all other text
is written by hand.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from analysis.blocks import blocks
from emt.files import write_text
from experiments.checks import ConfigError, check_choice
from experiments.cli import report_errors

__all__ = ["FILES", "ROOT", "filled", "written"]

ROOT = Path(__file__).parent.parent
FILES = ("README.md", "docs/results.md", "docs/pemt_plus.md")


def filled(text: str, made: Mapping[str, str]) -> str:
    r"""Return a text with what is between the marks of each block replaced; other marks are left alone.

    Examples
    --------
    >>> print(filled("a\n<!-- x: begin -->\nold\n<!-- x: end -->\nb", {"x": "new"}))
    a
    <!-- x: begin -->
    new
    <!-- x: end -->
    b
    """
    done, rest = [], text
    while "<!-- " in rest and ": begin -->" in rest:
        before, after = rest.split(": begin -->", 1)
        before, name = before.rsplit("<!-- ", 1)
        end = f"<!-- {name}: end -->"
        if end not in after:
            raise ConfigError(f"there is no {end} after <!-- {name}: begin -->")
        old, rest = after.split(end, 1)
        new = f"\n{made[name].strip()}\n" if name in made else old
        done.append(f"{before}<!-- {name}: begin -->{new}{end}")
    return "".join(done) + rest


def written() -> dict[str, str]:
    """Return the files as the tables would have them; links are relative to each file."""
    made, files = blocks(ROOT / "results"), {}
    for name in FILES:
        up = "../" * name.count("/")
        own = {block: text.replace("](results/", f"]({up}results/") for block, text in made.items()}
        files[name] = filled((ROOT / name).read_text(encoding="utf8"), own)
    return files


def main(arguments: list[str]) -> int:
    """Write the blocks, or with ``check`` say which files they would change; the exit status is 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m analysis.readme", description=str(__doc__).splitlines()[0])
    parser.add_argument("what", nargs="?", default="write", help="write (the default) or check")
    what = check_choice(parser.parse_args(arguments).what, "analysis.readme", ["write", "check"])
    stale = []
    for name, new in written().items():
        if new != (ROOT / name).read_text(encoding="utf8"):
            stale.append(name)
            if what == "write":
                write_text(ROOT / name, new)
    done = "written" if what == "write" else "not what the tables say: make readme"
    print(f"{', '.join(stale)}: {done}" if stale else f"{', '.join(FILES)}: as the tables say")
    return int(what == "check" and bool(stale))


if __name__ == "__main__":
    with report_errors():
        status = main(sys.argv[1:])
    sys.exit(status)
