import gzip
import json
import re
from base64 import b64decode

import numpy as np
import pandas as pd
import pytest
from browser import browser, found
from synthetic_logs import row, runs_of, study_log, study_of, write

from analysis.metafeatures import FEATURES
from analysis.report import write_report
from analysis.results import Options
from analysis.section import signed
from analysis.wins import outcome_text

LEARNERS = ["parametric", "emt", "pemt", {"name": "mine", "learner": "emt"}]
in_browser = pytest.mark.skipif(found() is None, reason="no Chrome or Chromium is installed (apt-get install chromium)")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """40 datasets, half of them of one family; one learner has not finished one of them."""
    asked = study_of(tmp_path_factory.mktemp("results"), LEARNERS, n_datasets=40, seeds=4, horizon=64)
    log = study_log(asked)
    failed = row("mine", "set-003", 0, np.zeros(0), status="error", message="no </script> & <b>")
    log = log[~((log["learner"] == "mine") & (log["dataset"] == "set-003"))]
    write(asked, pd.concat([log, runs_of(asked, [failed])], ignore_index=True))
    groups = asked.results / "groups.csv"
    names = [f"BNG({place})" if place < 15 else f"set{place}x" for place in range(40)]
    kinds = ["original" if place % 4 else "made again" for place in range(40)]
    pd.DataFrame({"dataset": asked.suite.datasets, "group": kinds, "name": names}).to_csv(groups, index=False)
    write_report(asked, Options(groups=groups, meta=False))
    return asked


@pytest.fixture(scope="module")
def chrome():
    with browser() as page:
        yield page


@pytest.fixture
def page(chrome, study):
    chrome.open(study.folder / "report.html")
    return chrome


def table(study, name):
    return pd.read_csv(study.folder / "tables" / name)


def text_of(page, selector):
    return page.evaluate(f"document.querySelector({json.dumps(selector)}).textContent")


def choose(page, selector, value):
    """Choose an option, tick a box or write into a field, as a person does."""
    page.evaluate(
        f"""(() => {{ const field = document.querySelector({json.dumps(selector)});
        field.type === "checkbox" ? field.click() : field.value = {json.dumps(value)};
        for (const kind of ["input", "change"]) field.dispatchEvent(new Event(kind, {{ bubbles: true }})); }})()"""
    )
    page.settle()


def wins(page):
    cells = page.evaluate(
        "[...document.querySelectorAll('#win-table button')].map(cell => [cell.dataset.pair, cell.textContent])"
    )
    return {tuple(pair.split("|")): text for pair, text in cells}


def points(page, name="contrast"):
    return page.evaluate(f"document.querySelectorAll('#chart-{name} .mark-symbol.role-mark path').length")


def test_the_page_is_one_file_that_asks_for_nothing(study):
    text = (study.folder / "report.html").read_text()
    outside = re.sub(r"<script[^>]*>.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", outside)
    assert "no \\u003c/script> & <b>" not in outside
    assert "no &lt;/script&gt; &amp; &lt;b&gt;" in outside
    assert "636 of 640 runs are done (99.4%), 1 failed" in text


def test_its_numbers_are_those_of_the_tables(study):
    text = (study.folder / "report.html").read_text()
    data = json.loads(gzip.decompress(b64decode(re.search(r'<script id="data"[^>]*>(.*?)</script>', text)[1])))
    contrasts = table(study, "contrasts.csv.gz")
    for (first, second), part in contrasts.groupby(["first", "second"]):
        pair = {column: values[f"{first}|{second}"] for column, values in data["pairs"].items()}
        assert [data["datasets"][place]["dataset"] for place in pair["set"]] == part["dataset"].tolist()
        assert (pair["seeds"], pair["outcome"]) == (part["seeds"].tolist(), part["outcome"].tolist())
        for column, apart in (("mean", 5.01e-6), ("limit", 5.01e-5)):  # half of the last decimal
            assert pair[column] == pytest.approx(part[column].tolist(), abs=apart)


@in_browser
def test_it_opens_without_an_error_and_without_the_network(page, study):
    assert page.errors == []
    assert [url for url in page.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert points(page) == 40
    assert page.evaluate("document.querySelectorAll('#chart-curves .mark-line path').length") == 4


@in_browser
def test_it_shows_the_wins_and_means_of_the_tables(page, study):
    counted = table(study, "wins.csv").set_index(["row", "column"])["wins"]
    assert wins(page) == {pair: str(count) for pair, count in counted.items()}
    shown = page.evaluate(
        """[...document.querySelectorAll('#mean-table tbody tr')]
        .map(line => [line.dataset.learner, ...[...line.cells].map(cell => cell.textContent)])"""
    )
    means = table(study, "mean_rewards.csv").set_index("learner")
    assert [cells[0] for cells in shown] == means.index.tolist()
    for learner, _, mean, difference, se, _, datasets in shown:
        known = means.loc[learner]
        assert float(mean) == pytest.approx(known["mean"], abs=6e-5)
        assert int(datasets) == known["datasets"]
        if learner != "parametric":
            assert difference == signed(known["difference"])
            assert float(se) == pytest.approx(known["difference_se"], abs=6e-5)


@in_browser
def test_it_shows_the_reward_of_each_learner_on_each_dataset(page, study):
    shown = page.evaluate(
        """[...document.querySelectorAll('#reward-table tbody tr')]
        .map(line => [line.dataset.set, [...line.cells].slice(3, 7).map(cell => cell.firstChild?.textContent ?? '')])"""
    )
    rewards = table(study, "rewards.csv").pivot(index="dataset", columns="learner", values="mean")
    assert len(shown) == 40
    for name, cells in shown:
        for cell, known in zip(cells, rewards.loc[name, ["pemt", "emt", "parametric", "mine"]], strict=True):
            assert (cell == "") == bool(np.isnan(known))
            assert cell == "" or float(cell) == pytest.approx(known, abs=6e-5)


@in_browser
def test_a_cell_of_the_win_table_shows_its_contrast(page, study):
    page.evaluate("document.querySelector('[data-pair=\"mine|emt\"]').click()")
    page.settle()
    assert text_of(page, "#contrast-name") == "mine against EMT"
    counted = table(study, "wins.csv").set_index(["row", "column"]).loc[("mine", "emt")]
    assert text_of(page, "#contrast-counts").startswith(f"{counted['wins']} wins, {counted['ties']} ties, ")
    assert points(page) == 39  # one dataset has no run of it
    assert text_of(page, "#win-table [aria-pressed=true]") == str(counted["wins"])
    assert page.errors == []


@in_browser
def test_the_keyboard_does_what_the_mouse_does(page):
    page.evaluate("document.querySelector('[data-pair=\"emt|mine\"]').focus()")
    page.press("Enter")
    page.settle()
    assert text_of(page, "#contrast-name") == "EMT against mine"
    assert page.evaluate("document.activeElement.dataset.pair") == "emt|mine"
    unnamed = "[...document.querySelectorAll('select, input')].filter(field => !field.labels.length).length"
    assert page.evaluate(unnamed) == 0
    silent = "[...document.querySelectorAll('.chart svg')].filter(svg => !svg.closest('[aria-label], [role]')).length"
    assert page.evaluate(silent) == 0


@in_browser
def test_hovering_a_point_names_the_dataset_with_both_rewards(page, study):
    page.evaluate("document.querySelector('#chart-contrast').scrollIntoView({ block: 'center' })")
    x, y = page.evaluate(
        """(() => { const all = document.querySelectorAll('#chart-contrast .mark-symbol.role-mark path');
        const box = all[all.length - 1].getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2]; })()"""
    )
    page.hover(x, y)
    told = page.evaluate(
        """new Promise(done => { const look = () => { const tip = document.querySelector('#vg-tooltip-element.visible');
        tip ? done(tip.innerText) : setTimeout(look, 20); }; look(); })"""
    )
    contrasts = table(study, "contrasts.csv.gz")
    pair = contrasts[(contrasts["first"] == "pemt") & (contrasts["second"] == "parametric")]
    best = pair.sort_values("mean").iloc[-1]
    name = table(study, "datasets.csv").set_index("dataset").loc[best["dataset"], "name"]
    assert name in told
    assert f"{best['first_reward']:.4f}" in told
    assert f"{best['second_reward']:.4f}" in told
    for word in ("PEMT", "Parametric", "interactions", "classes", "numeric columns", "outcome"):
        assert word in told


@in_browser
def test_filters_change_counts(page, study):
    assert text_of(page, "#count") == "40 of 40 datasets, 4 of 4 learners"
    choose(page, "#filter-family", "BNG")
    assert text_of(page, "#count") == "15 of 40 datasets, 4 of 4 learners"
    choose(page, "#filter-group", "made again")
    assert text_of(page, "#count") == "4 of 40 datasets, 4 of 4 learners"
    datasets, contrasts = table(study, "datasets.csv"), table(study, "contrasts.csv.gz")
    kept = datasets[(datasets["family"] == "BNG") & (datasets["group"] == "made again")]["dataset"]
    part = contrasts[contrasts["dataset"].isin(kept) & (contrasts["first"] == "pemt") & (contrasts["second"] == "emt")]
    assert wins(page)["pemt", "emt"] == str((part["outcome"] == "win").sum())
    assert wins(page)["emt", "pemt"] == str((part["outcome"] == "loss").sum())
    page.evaluate("document.querySelector('#choice [type=reset]').click()")
    page.evaluate("new Promise(done => setTimeout(done))")
    page.settle()
    assert text_of(page, "#count") == "40 of 40 datasets, 4 of 4 learners"
    choose(page, "#search", "bng(1")
    assert text_of(page, "#count").startswith("6 of 40 datasets")
    assert page.errors == []


@in_browser
def test_few_datasets_are_bars_with_their_names(page):
    choose(page, "#filter-family", "BNG")
    labels = page.evaluate(
        "[...document.querySelectorAll('#chart-contrast .role-axis-label text')].map(t => t.textContent)"
    )
    assert {f"BNG({place})" for place in range(15)} <= set(labels)


@in_browser
def test_learners_and_the_baseline_are_chosen(page, study):
    choose(page, "#learners input[value=mine]", None)
    assert len(wins(page)) == 6
    choose(page, "#baseline", "emt")
    assert "difference to EMT" in text_of(page, "#mean-table thead")
    contrasts = table(study, "contrasts.csv.gz")
    known = contrasts[(contrasts["first"] == "pemt") & (contrasts["second"] == "emt")]["mean"].mean()
    shown = text_of(page, "#mean-table [data-learner=pemt] td:nth-of-type(2)")
    assert float(shown.replace("−", "-")) == pytest.approx(known, abs=6e-5)
    assert page.errors == []


@in_browser
def test_without_any_learner_or_dataset_the_page_stays_whole(page):
    choose(page, "#search", "nothing has this name")
    assert text_of(page, "#count").startswith("0 of 40 datasets")
    assert "None of the chosen datasets" in text_of(page, "#curve-note")
    for learner in ("mine", "emt", "pemt", "parametric"):
        choose(page, f"#learners input[value={learner}]", None)
    assert page.errors == []


@in_browser
def test_curves_are_of_the_mean_or_of_one_dataset(page, study):
    rows = "document.querySelector('#chart-curves').dataset.drawn"
    before = page.evaluate(rows)
    assert "39 datasets" in text_of(page, "#curve-set option:checked")
    choose(page, "#curve-set", "0")
    assert page.evaluate(rows) != before
    assert text_of(page, "#curve-note") == "The mean over seeds of one dataset."


@in_browser
def test_the_table_of_datasets_sorts(page):
    def names():
        return page.evaluate(
            "[...document.querySelectorAll('#reward-table tbody tr')].map(r => r.cells[3].firstChild.textContent)"
        )

    page.evaluate("document.querySelector('#reward-table [data-sort=pemt]').click()")
    down = names()
    assert down == sorted(down, reverse=True)
    assert (
        page.evaluate("document.querySelector('[data-sort=pemt]').closest('th').getAttribute('aria-sort')")
        == "descending"
    )
    page.evaluate("document.querySelector('#reward-table [data-sort=pemt]').click()")
    assert names() == sorted(down)


@in_browser
@pytest.mark.parametrize(("kind", "start"), [("svg", "data:image/svg+xml"), ("png", "data:image/png")])
def test_every_picture_can_be_saved(page, kind, start):
    saved = page.evaluate(
        f"""(async () => {{ const saved = [];
        HTMLAnchorElement.prototype.click = function () {{ saved.push([this.download, this.href]); }};
        const buttons = [...document.querySelectorAll('.save[data-kind={kind}]')];
        for (const button of buttons) button.click();
        while (saved.length < buttons.length) await new Promise(done => setTimeout(done, 20));
        return saved; }})()"""
    )
    charts = page.evaluate("document.querySelectorAll('.chart').length")
    assert len(saved) == charts
    for name, url in saved:
        assert name.endswith(f".{kind}")
        assert url.startswith((start, "blob:"))


@in_browser
@pytest.mark.parametrize("dark", [False, True])
def test_a_narrow_screen_scrolls_down_only_and_the_dark_is_dark(chrome, study, dark):
    chrome.open(study.folder / "report.html", width=360, height=740, dark=dark)
    assert chrome.evaluate("document.documentElement.scrollWidth") <= 360
    background = chrome.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") != dark
    chrome.evaluate("document.querySelector('#theme').click()")
    chrome.settle()
    assert (chrome.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)") == dark
    assert chrome.errors == []


@in_browser
@pytest.mark.parametrize("table", ["win-table", "reward-table"])
def test_the_names_of_the_rows_stay_when_a_wide_table_is_scrolled(chrome, study, table):
    chrome.open(study.folder / "report.html", width=360, height=740)
    moved, left, edge, on_top = chrome.evaluate(
        f"""(() => {{ const all = document.getElementById("{table}"), box = all.parentElement;
        box.scrollIntoView(); box.scrollLeft = 10000; box.scrollTop = 100;
        const [x, corner] = [box.getBoundingClientRect().x, all.rows[0].cells[0].getBoundingClientRect()];
        const top = document.elementFromPoint(corner.x + 5, corner.y + 5);
        return [box.scrollLeft, all.rows[3].cells[0].getBoundingClientRect().x, x,
                top === all.rows[0].cells[0] || all.rows[0].cells[0].contains(top)]; }})()"""
    )
    assert moved > 50
    assert left == pytest.approx(edge, abs=1)
    assert on_top


@in_browser
@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ([], "0 of 16 runs are done (0.0%): 2 datasets"),
        (["failed"], "0 of 16 runs are done (0.0%), 1 failed"),
        (["one"], "1 of 16 runs are done (6.2%): 2 datasets"),
        (["half"], "8 of 16 runs are done (50.0%): 2 datasets"),
    ],
)
def test_studies_with_nothing_with_failures_alone_and_half_done_have_a_page(chrome, tmp_path, kept, said):
    asked = study_of(tmp_path, ["emt", "parametric"], 2, 4, 64)
    failed = row("emt", "set-000", 0, np.zeros(0), status="error", message="boom")
    logs = {"failed": runs_of(asked, [failed]), "one": study_log(asked).head(1), "half": study_log(asked)[::2]}
    for name in kept:
        write(asked, logs[name])
    write_report(asked, Options(meta=False))
    chrome.open(asked.folder / "report.html")
    assert chrome.errors == []
    assert said in text_of(chrome, "#findings")
    assert "experiments.run" in text_of(chrome, "#findings")
    assert ("boom" in text_of(chrome, "main")) == (kept == ["failed"])


@in_browser
def test_budgets_follow_the_chosen_datasets_and_baseline(chrome, tmp_path):
    fifo = {"learner": "pemt", "budget": 8, "eviction": "fifo"}
    asked = study_of(tmp_path, ["parametric", {"learner": "pemt", "budget": [8, 64]}, fifo], 5, 4, 64)
    write(asked, study_log(asked))
    write_report(asked, Options(meta=False))
    budgets = table(asked, "budgets.csv").set_index("learner")
    assert set(budgets["reference"]) == {"pemt[budget=64]"}  # with all memories, nothing is forgotten
    contrasts = table(asked, "contrasts.csv.gz")
    chrome.open(asked.folder / "report.html")
    rows = """[...document.querySelectorAll('#budget-table tbody tr')]
        .map(line => [line.dataset.learner, ...[...line.cells].slice(3).map(cell => cell.textContent)])"""
    for learner, loss, se, datasets, against in chrome.evaluate(rows):
        known = budgets.loc[learner]
        assert float(loss.replace("−", "-")) == pytest.approx(known["loss"], abs=6e-5)
        assert float(se) == pytest.approx(known["se"], abs=6e-5)
        assert int(datasets) == 5
        assert against == outcome_text(known.to_dict())
    choose(chrome, "#search", "set-003")
    one = contrasts[contrasts["dataset"] == "set-003"].set_index(["first", "second"])["mean"]
    for learner, loss, _, datasets, _ in chrome.evaluate(rows):
        known = 0.0 if learner == "pemt[budget=64]" else one.get(("pemt[budget=64]", learner))
        known = -one[learner, "pemt[budget=64]"] if known is None else known
        assert (float(loss.replace("−", "-")), int(datasets)) == (pytest.approx(known, abs=6e-5), 1)
    choose(chrome, "#baseline", "pemt[budget=8]")
    assert "PEMT, 8 memories" in text_of(chrome, "#budget-note")
    assert chrome.errors == []


@in_browser
def test_the_scores_of_the_forest_follow_the_chosen_datasets(chrome, tmp_path, monkeypatch):
    monkeypatch.setattr("analysis.meta.TREES", 5)
    rng = np.random.default_rng(0)
    made_up = pd.DataFrame({name: rng.random(40) for name in FEATURES})
    names = [f"set-{place:03d}" for place in range(40)]
    monkeypatch.setattr("analysis.results.feature_table", lambda *_: (made_up.assign(dataset=names), {}))
    asked = study_of(tmp_path, ["parametric", "emt"], 40, 6, 64)
    chance = {("emt", place): 0.8 if place % 2 else 0.2 for place in range(40)}  # parametric: 0.5
    rows = [
        row(learner, name, seed, rng.random(64) < chance.get((learner, place), 0.5))
        for learner in asked.learners
        for place, name in enumerate(names)
        for seed in range(6)
    ]
    write(asked, runs_of(asked, rows))
    write_report(asked, Options())
    scores = table(asked, "forest_scores.csv").set_index("model")["macro_f1"]
    chrome.open(asked.folder / "report.html")
    told = text_of(chrome, "#forest-note")
    wins = (table(asked, "meta_features.csv")["outcome"] == "win").sum()
    assert f"On the 40 chosen datasets, of which EMT wins {wins}" in told
    assert f"full {scores['full']:.3f}, compact {scores['compact']:.3f}" in told
    choose(chrome, "#search", "set-00")
    assert "On the 10 chosen datasets" in text_of(chrome, "#forest-note")
    choose(chrome, "#search", "set-000")
    assert "all of one class" in text_of(chrome, "#forest-note")
    assert chrome.errors == []


@in_browser
def test_every_table_has_a_caption_and_every_box_that_scrolls_a_name(page):
    assert page.evaluate("[...document.querySelectorAll('table')].filter(one => !one.caption).length") == 0
    assert page.evaluate("[...document.querySelectorAll('.scroll:not([aria-label])')].length") == 0
    assert page.evaluate("[...document.querySelectorAll('thead th:not([scope])')].length") == 0
    broken = "[...document.querySelectorAll('nav a')].filter(one => !document.querySelector(one.hash)).length"
    assert page.evaluate(broken) == 0


@in_browser
def test_tab_goes_down_the_page(page):
    tops = []
    page.evaluate("document.body.focus()")
    for _ in range(12):
        page.press("Tab")
        tops.append(page.evaluate("document.activeElement.getBoundingClientRect().top + scrollY"))
    assert tops[1:] == sorted(tops[1:])  # the first is the link that skips, above all
    assert page.evaluate("document.querySelector('[tabindex]:not([tabindex=\"0\"])')") is None


@in_browser
def test_budgets_and_sweeps_are_drawn(chrome, tmp_path):
    learners = ["parametric", {"learner": "pemt", "budget": [8, 64]}, {"learner": "emt", "leaf_capacity": [5, 50]}]
    asked = study_of(tmp_path, learners, 3, 3, 64)
    write(asked, study_log(asked))
    write_report(asked, Options(meta=False))
    chrome.open(asked.folder / "report.html")
    assert chrome.errors == []
    difference = "document.querySelectorAll('#chart-sweep_difference_leaf_capacity .mark-symbol path').length"
    assert chrome.evaluate(difference) >= 2
    for name in ("budgets", "budget_wins", "sweep_leaf_capacity"):
        assert chrome.evaluate(f"document.querySelectorAll('#chart-{name} .mark-line path').length") >= 1


@in_browser
def test_of_many_learners_the_curves_are_those_of_the_contrast_until_fewer_are_chosen(chrome, tmp_path):
    asked = study_of(tmp_path, ["parametric", {"learner": "emt", "leaf_capacity": list(range(5, 18))}], 2, 3, 32)
    write(asked, study_log(asked))
    write_report(asked, Options(meta=False))
    chrome.open(asked.folder / "report.html")
    assert chrome.errors == []
    drawn = "document.querySelectorAll('#chart-curves .mark-line path').length"
    assert chrome.evaluate(drawn) == 2
    assert "Of 14 learners, the baseline and those of the contrast are drawn" in text_of(chrome, "#curve-note")
    for size in (5, 6):
        choose(chrome, f"#learners input[value='emt[leaf_capacity={size}]']", None)
    assert chrome.evaluate(drawn) == 12


@in_browser
def test_failed_runs_are_listed_by_what_went_wrong_and_each_traceback_is_there_once(chrome, tmp_path):
    asked = study_of(tmp_path, ["emt"], 2, 3, 32)
    message = "Traceback (most recent call last):\n  File 'mine.py', line 7, in start\nValueError: no good start"
    failed = [row("emt", "set-000", seed, np.zeros(0), status="error", message=message) for seed in (0, 1)]
    write(asked, runs_of(asked, failed))
    write_report(asked, Options(meta=False))
    chrome.open(asked.folder / "report.html")
    assert chrome.errors == []
    cells = chrome.evaluate("[...document.querySelectorAll('.tall td')].map(cell => cell.textContent)")
    assert cells == [
        "emt/set-000/seed-00",
        "ValueError: no good start",
        "emt/set-000/seed-01",
        "ValueError: no good start",
    ]
    assert chrome.evaluate("[...document.querySelectorAll('main pre')].map(one => one.textContent)") == [message]
