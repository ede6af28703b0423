import pandas as pd
from synthetic_logs import cast

from analysis.summary import markdown_table, wins_section


def test_cells_are_one_line_and_keep_their_bars():
    text = markdown_table([{"message": "a | b\nc", "share": 0.123456, "count": 12345, "nothing": float("nan")}])
    assert text.splitlines()[-1] == r"| a \| b c | 0.1235 | 12,345 |  |"


def test_only_learners_of_table_1_stand_beside_it():
    pairs = pd.DataFrame(
        {"row": ["emt", "mine"], "column": ["mine", "emt"], "wins": [1, 0], "ties": 0, "losses": [0, 1], "datasets": 1}
    ).assign(fewest_seeds=2, most_seeds=2)
    text = wins_section("Wins", pairs, cast(emt={}, mine={}), "a rule")
    assert "| EMT | --- | **1** |" in text
    assert "Table 1" not in text
