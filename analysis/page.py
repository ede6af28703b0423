"""The page: one HTML file with the study's numbers, its charts and the scripts that draw them; it needs no network."""

from __future__ import annotations

import gzip
import html
import json
import math
import re
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
import vl_convert
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from pandas.io.formats.style import Styler

from analysis.budgets import BESIDE
from analysis.cast import MANY
from analysis.charts import DASHES, charts_of
from analysis.contrasts import FEW
from analysis.look import styles_of
from analysis.metafeatures import FEATURES
from analysis.results import Results
from analysis.section import Section
from analysis.summary import (
    describe_features,
    findings,
    forest_rows,
    meta_sentences,
    reason,
    sweep_heading,
    table_1_rows,
)
from analysis.sweep import sweep_rows
from analysis.tables import standing
from experiments.cli import command

__all__ = ["page_text"]

TEMPLATE = Path(__file__).parent / "template"
VEGA = "window.vegaEmbed = vegaEmbed;"
SECTIONS = ("claims", "beside", "speed", "slowest", "budgets", "meta", "forest", "descriptions", "failures")
TRACEBACKS = 10  # different ones that are shown
LISTED = {"mean": 5, "limit": 4}  # decimals of contrasts: four are shown, also of the mean of many means
DRAWN = 3  # decimals of curves
WORDS = ["family", "columns", "actions", "group"]  # what datasets are chosen by


def page_text(results: Results, images: Mapping[str, bytes] = MappingProxyType({})) -> str:
    """Return the page of a study's results, the same text for the same log.

    `images` are the PNG files of the figures in the study's own sections, by their names.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"code": _code, "sweep_heading": sweep_heading}
    title = " / ".join(results.study.folder.relative_to(results.study.results).parts)
    sections = _sections(results)
    return environment.get_template("report.html").render(
        title=title,
        contents=_contents(results, sections),
        findings=findings(results),
        results=results,
        sections=sections,
        own=[_own(section, images) for section in results.sections],
        table_1=_table(pd.DataFrame(table_1_rows(results)), "Shares of wins, here and in the paper's Table 1")
        if len(results.finals)
        else "",
        standing=standing(results.wins) if len(results.finals) else "",
        features=FEATURES,
        data=_packed(json.dumps(_data(results), separators=(",", ":"), allow_nan=False, ensure_ascii=False)),
        css=Markup((TEMPLATE / "report.css").read_text()),
        script=Markup((TEMPLATE / "report.js").read_text()),
        vega=_packed(vl_convert.javascript_bundle(VEGA)),
    )


def _own(section: Section, images: Mapping[str, bytes]) -> dict[str, Any]:
    """Return a section of the study's own, with its pictures in it."""
    found = [(picture.text, images[picture.name]) for picture in section.pictures if picture.name in images]
    return {
        "heading": section.heading,
        "sentences": section.sentences,
        "tables": [_table(table, caption) for caption, table in section.tables.items()],
        "pictures": {text: f"data:image/png;base64,{b64encode(image).decode()}" for text, image in found},
    }


def _contents(results: Results, sections: dict[str, Any]) -> dict[str, str]:
    """Return the headings that the page has, by where they are."""
    shown = {"wins": "Wins", "contrast": "Contrast"}
    shown |= {"paper": "Beside the paper"} if sections["beside"] else {}
    shown |= {"means": "Mean rewards", "curves": "Progressive reward", "rewards": "Every dataset"}
    shown |= {"budgets": "Budgets"} if sections["budgets"] else {}
    shown |= {"meta": "Where EMT beats parametric"} if sections["meta"] else {}
    sweeps = {f"sweep-{name}": sweep_heading(name) for name in results.sweeps}
    own = {f"own-{number}": section.heading for number, section in enumerate(results.sections, 1)}
    return own | (shown if len(results.finals) else {}) | sweeps | {"runs": "What was run"}


def _sections(results: Results) -> dict[str, Any]:
    """Return the tables that do not change with what the reader chooses."""
    label = results.cast.label
    sections: dict[str, Any] = dict.fromkeys(SECTIONS, "")
    sections["coverage"] = _table(_coverage(results), "Runs of each learner")
    failed = pd.DataFrame({"run": results.failed["id"], "why": results.failed["message"].map(reason)})
    sections["failures"] = _table(failed, "Failed runs")
    sections["tracebacks"] = _tracebacks(results.failed)
    sections["origins"] = [_origin(origin) for origin in results.origins]
    sections["command"] = command("run", results.study)
    sections["sweeps"] = {
        name: _table(pd.DataFrame(sweep_rows(table, name)), f"Mean final reward by {name.replace('_', ' ')}")
        for name, table in results.sweeps.items()
    }
    if results.finals.empty:
        return sections
    claims = pd.DataFrame(results.claims).drop(columns=["undecided", "mean"], errors="ignore")
    sections["claims"] = _table(claims, "The paper's claims, judged")
    sections["beside"] = _table(pd.DataFrame(results.beside), "What the paper published, and what was found here")
    sections["speed"] = _table(_speed(results), "Time and memory of each learner")
    slowest = results.finals.sort_values(["seconds", "dataset"], ascending=[False, True]).head(10)
    slowest = slowest[["learner", "dataset", "seed", "n_steps", "seconds"]]
    sections["slowest"] = _table(
        slowest.assign(learner=[label(name) for name in slowest["learner"]]), "The ten slowest runs"
    )
    sections["budgets"] = len(results.budgets) > 0
    if results.meta:
        sections["meta"] = meta_sentences(results, results.meta)
        forest = results.meta.forest
        scores = pd.DataFrame(forest_rows(forest)) if forest else pd.DataFrame()
        sections["forest"] = _table(scores, "Macro F1 on held-out datasets, all of them")
        sections["descriptions"] = _table(describe_features().drop(columns="name"), "What the meta-features are")
    return sections


def _coverage(results: Results) -> pd.DataFrame:
    rows = []
    for learner in results.cast.order():
        part = results.finals[results.finals["learner"] == learner]
        whole = part.groupby("dataset")["seed"].nunique() >= results.study.seeds
        rows.append({"learner": results.cast.label(learner), "runs done": len(part)})
        rows[-1] |= {"failed": int((results.failed["learner"] == learner).sum())}
        rows[-1] |= {"datasets": part["dataset"].nunique(), "with all seeds": int(whole.sum())}
        rows[-1] |= {"interactions": int(part["n_steps"].sum())}
    return pd.DataFrame(rows)


def _speed(results: Results) -> pd.DataFrame:
    """Return the table of time and memory in words for readers; what the columns are is said beside it."""
    table = results.speed
    shown = {
        "learner": [results.cast.label(name) for name in table["learner"]],
        "interactions per second": table["per_second"].round().astype(int),
        "slowest run": table["slowest"].map(_time),
        "peak memory (MiB)": table["peak_mib"].round().astype("Int64"),
        "core time": (3600 * table["core_hours"]).map(_time),
        "core time of the whole study": (3600 * table["whole_core_hours"]).map(_time),
    }
    return pd.DataFrame(shown)


def _time(seconds: float) -> str:
    """Return a time in the unit that suits it.

    Examples
    --------
    >>> _time(0.0123), _time(75), _time(5400), _time(1e6)
    ('0.012 s', '1.2 min', '1.5 h', '280 h')
    """
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{float(f'{seconds / size:.2g}'):g} {unit}"
    return f"{float(f'{seconds:.2g}'):g} s"


def _tracebacks(failed: pd.DataFrame) -> list[dict[str, Any]]:
    """Return each whole message of failed runs once, with how many runs have it and which is the first."""
    groups = failed.groupby("message", sort=False)["id"]
    return [
        {"why": reason(str(text)), "runs": len(names), "first": names.iloc[0], "text": text} for text, names in groups
    ][:TRACEBACKS]


def _origin(origin: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in origin.get("packages", {}).items() if version)
    changed = " with changes that are not committed" if origin.get("git_dirty") else ""
    parts = [f"commit {origin['git']}{changed}" if origin.get("git") else "", f"Python {origin.get('python', '?')}"]
    parts += [packages, str(origin.get("cpu", "")), str(origin.get("platform", ""))]
    return "; ".join(part for part in parts if part)


def _table(frame: pd.DataFrame, caption: str) -> Markup:
    """Return pandas' own HTML of a table with a caption, in a box that scrolls by itself on narrow screens."""
    if frame.empty:
        return Markup("")
    frame = frame.rename(columns=lambda name: str(name).replace("_", " "))
    said = html.escape(caption)
    words = [place for place, kind in enumerate(frame.dtypes) if not pd.api.types.is_numeric_dtype(kind)]
    four: dict[Any, Any] = dict.fromkeys(frame.select_dtypes(float), "{:.4g}".format)
    styler = Styler(frame, cell_ids=False).hide(axis="index")
    styler = styler.format(four, na_rep="", escape="html", thousands=",")
    styler = styler.set_uuid(re.sub(r"\W+", "-", caption.lower())).set_caption(said)
    styler = styler.set_table_styles([{"selector": f".col{place}", "props": "text-align: left"} for place in words])
    text = styler.to_html(table_attributes='class="dataframe"').replace("<th ", '<th scope="col" ')
    return Markup(f'<div class="scroll" tabindex="0" role="region" aria-label="{said}">{text}</div>')


def _code(text: str) -> Markup:
    """Return text with what is between backticks and stars as code and bold.

    Examples
    --------
    >>> str(_code("run `a < b`"))
    'run <code>a &lt; b</code>'
    """
    safe = re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text))
    return Markup(re.sub(r"\*\*([^*]*)\*\*", r"<strong>\1</strong>", safe))


def _data(results: Results) -> dict[str, Any]:
    """Return what the page's script works on: datasets by their places, and numbers as the CSV files have them.

    Contrasts and curves, which are most of a page, have the decimals that it takes to show them.
    """
    present, styles = results.present, styles_of(results.present)
    datasets = results.datasets
    place = {name: number for number, name in enumerate(datasets["dataset"])} if len(datasets) else {}
    learners = [
        {"key": name, "label": present.label(name), "colour": style.colour, "dash": DASHES[number % len(DASHES)]}
        for number, (name, style) in enumerate(styles.items())
    ]
    if results.finals.empty:
        return {
            "learners": [],
            "datasets": [],
            "charts": charts_of(present, pd.DataFrame(), results.swept, results.sweeps, pd.DataFrame()),
        }
    forest = results.meta.forest if results.meta else None
    importances = forest.importances if forest else pd.DataFrame()
    return {
        "title": results.study.name,
        "baseline": results.baseline,
        "bars": results.options.rule.bars,
        "few": FEW,
        "many": MANY,
        "learners": learners,
        "datasets": _records(datasets),
        "words": [word for word in WORDS if datasets[word].nunique() > 1],
        "pairs": _pairs(results.pairs, place),
        "rewards": {
            learner: {"set": [place[name] for name in part["dataset"]]}
            | {column: _numbers(part[column]) for column in ("mean", "se", "seeds")}
            for learner, part in results.rewards.groupby("learner")
        },
        "curves": {
            "steps": sorted(int(step) for step in results.curves["step"].unique()),
            **{
                learner: {place[name]: _numbers(one["reward"].round(DRAWN)) for name, one in part.groupby("dataset")}
                for learner, part in results.curves.groupby("learner")
            },
        },
        "budgets": _budgets(results),
        "beside": BESIDE,
        "meta": _meta(results, place),
        "features": FEATURES,
        "charts": charts_of(present, results.budgets, results.swept, results.sweeps, importances),
    }


def _pairs(pairs: pd.DataFrame, place: dict[str, int]) -> dict[str, dict[str, list[Any]]]:
    """Return what is known of each pair, a column at a time: like beside like is compressed to half as much."""
    seen = pairs.round(LISTED)
    parts = {f"{first}|{second}": part for (first, second), part in seen.groupby(["first", "second"], sort=False)}
    return {
        "set": {pair: [place[name] for name in part["dataset"]] for pair, part in parts.items()},
        **{
            column: {pair: _numbers(part[column]) for pair, part in parts.items()}
            for column in ("mean", "limit", "seeds", "outcome")
        },
    }


def _meta(results: Results, place: dict[str, int]) -> dict[str, Any]:
    if results.meta is None:
        return {}
    table, forest = results.meta.table, results.meta.forest
    found: dict[str, Any] = {"set": [place[name] for name in table["dataset"]]}
    found |= {name: _numbers(table[name]) for name in FEATURES}
    if forest:
        found["truth"] = (table["outcome"] == "win").astype(int).tolist()
        found["held_out"] = {name: predicted.astype(int).tolist() for name, predicted in forest.held_out.items()}
    return found


def _budgets(results: Results) -> list[dict[str, Any]]:
    """Return the learners with a budget, those together that are otherwise the same, the largest budget first."""
    columns = ["learner", "budget", "share", "reference"]
    return [
        {"line": str(line), "members": _records(part[columns])}
        for line, part in (results.budgets.groupby("line", sort=False) if len(results.budgets) else ())
    ]


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = frame.to_dict("records")  # type: ignore[assignment]
    return [{key: _number(value) for key, value in row.items()} for row in rows]


def _numbers(column: pd.Series) -> list[Any]:
    return [_number(value) for value in column.tolist()]


def _number(value: Any) -> Any:
    """Return a number with as many digits as the CSV files have; nothing for what is missing."""
    if not isinstance(value, float):
        return value
    if math.isnan(value):
        return None
    short = float(f"{value:.6g}")
    return int(short) if short.is_integer() else short


def _packed(text: str) -> str:
    """Return text as the page's script unpacks it, a quarter as long: compressed, in letters.

    Examples
    --------
    >>> from base64 import b64decode
    >>> gzip.decompress(b64decode(_packed("tree " * 100))) == b"tree " * 100
    True
    """
    return b64encode(gzip.compress(text.encode(), mtime=0)).decode()
