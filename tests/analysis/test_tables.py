import pandas as pd
from synthetic_logs import finals

from analysis.paper import TABLE_1
from analysis.tables import markdown, wins_latex, wins_markdown
from analysis.wins import compare_all, win_table


def table_1():
    return pd.DataFrame(
        {"row": row, "column": column, "wins": wins} for row, cells in TABLE_1.items() for column, wins in cells.items()
    ).assign(datasets=206, undecided=0, fewest_seeds=3, most_seeds=50)


def test_cells_are_one_line_and_keep_their_bars():
    text = markdown(
        [{"message": "a | b\nc", "share": 0.123456, "count": 12345, "nothing": float("nan"), "code": "1e5"}]
    )
    cells = [cell.strip() for cell in text.splitlines()[-1].replace(r"\|", "BAR").strip("|").split("|")]
    assert cells == ["a BAR b c", "0.1235", "12,345", "", "1e5"]


def test_latex_is_the_papers_table():
    lines = wins_latex(table_1(), str.upper).splitlines()
    assert lines[3] == r"\toprule"
    assert r"\bottomrule" in lines
    assert "206 datasets, 3 to 50 seeds" in lines[1]
    assert r"PEMT & --- & \textbf{167} & \textbf{87} & \textbf{196} & \textbf{110} \\" in lines
    assert r"EMT & \textbf{31} & --- & 42 & 177 & 44 \\" in lines


def test_markdown_marks_the_best_of_a_column():
    line = wins_markdown(table_1(), str.upper).splitlines()[2]
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        "PEMT",
        "—",
        "**167**",
        "**87**",
        "**196**",
        "**110**",
    ]


def counts(n_seeds):
    rewards = {("my_own", "d"): [1.0, 0.9, 0.95][:n_seeds], ("emt", "d"): [0.0, 0.1, 0.02][:n_seeds]}
    return win_table(compare_all(finals(rewards), ["my_own", "emt"]), ["my_own", "emt"])


def test_learner_names_are_safe_in_latex():
    assert r"my\_own & --- & \textbf{1} \\" in wins_latex(counts(3))


def test_what_too_few_seeds_leave_open_is_no_count_of_ties():
    assert "undecided" in wins_markdown(counts(2))
    assert "which decide nothing" in wins_latex(counts(2))
    assert "undecided" not in wins_markdown(counts(3))
