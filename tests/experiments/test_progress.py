import io
import sys

from experiments import progress
from experiments.cli import compose
from experiments.config import study
from experiments.costs import Costs
from experiments.plan import plan
from experiments.progress import Progress

TOYS = "learners=[{name:quick,_target_:toys.Toy},{name:slow,_target_:toys.Toy}]"


def make(costs):
    todo = plan(study(compose([TOYS, "seeds=5", "horizon=100", "suite.datasets=[wine]"])))
    return Progress(todo, todo.runs(), costs)


def row(learner, seconds, status="done"):
    n_steps = 100 if status == "done" else 0
    return {"dataset": "wine", "learner": learner, "n_steps": n_steps, "seconds": seconds, "status": status}


def test_the_time_left_follows_from_what_each_learner_costs(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    costs = Costs()
    shown = make(costs)
    clock[0] = 1.0
    shown.add([row("quick", 1.0)])
    assert str(shown) == "1/10 runs, 0 failed, 100 interactions/s, ? left"
    clock[0] = 10.0
    shown.add([row("slow", 19.0), row("quick", 0.0, status="error")])
    # 3 quick runs of 1 s and 4 slow ones of 19 s, at 20 s of work in 10 s
    assert str(shown) == "3/10 runs, 1 failed, 20 interactions/s, 40 s left"


def test_without_a_terminal_there_are_plain_lines_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(progress, "LINE_SECONDS", -1)
    shown = make(Costs())
    shown.add([row("quick", 1.0)])
    shown.close()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("1/10 runs, 0 failed") for line in lines)


def test_on_a_terminal_there_is_a_bar(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    shown = make(Costs())
    shown.add([row("quick", 1.0)] * 5)
    shown.close()
    assert "50%|" in terminal.getvalue()
    assert "5/10 runs, 0 failed" in terminal.getvalue()
