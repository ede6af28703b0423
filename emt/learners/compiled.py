"""Learners whose memory and model are compiled: the loop of ``_kernels/play.py`` is theirs."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import asdict
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from emt._kernels.explore import unpack_explorer
from emt._kernels.parts import grow, has_room, pack, remark
from emt._kernels.play import Bandit, Stream, learn_step, make_bandit, play, predict_step
from emt._kernels.vector import offsets
from emt.arguments import check_counts
from emt.array_files import load_arrays, naming, save_arrays
from emt.environment import Context, Environment, Space
from emt.learners.base import Learner, refuse_other_actions
from emt.learners.exploring import Exploration, explorer_of

if TYPE_CHECKING:
    from typing import Self  # of Python 3.11: benchmarks with an old Vowpal Wabbit run on 3.10

__all__ = ["Arrays", "CompiledLearner"]

Arrays = dict[str, np.ndarray]
FORMAT = "emt-learner-1"

FEW = 200  # memories to have room for at the start of a stream of unknown length


class CompiledLearner(Learner):
    """Base of the compiled learners: a subclass says which memory it has, and which model.

    Attributes
    ----------
    epsilon : float
        Share of exploration.
    explore : str or mapping
        How it explores: ``epsilon`` (epsilon-greedy, the paper's), ``squarecb``, or ``linucb`` where there is a ridge.
    n_answers : int
        How many numbers its memory answers for each action.
    """

    epsilon: float
    explore: Exploration = "epsilon"
    n_answers: int = 1
    _space: Space
    _bandit: Bandit

    @abstractmethod
    def parts(self, space: Space, seed: int, n_steps: int) -> tuple[Any, Any]:
        """Return an empty memory with room for about so many steps, or None, and an untrained model, or None."""

    def start(self, space: Space, seed: int, n_steps: int = FEW) -> None:
        """Forget everything and get ready for a stream of about so many contexts of this shape."""
        check_counts(None, seed=seed)
        self.note = ""
        self._begin(space, *self.parts(space, int(seed), n_steps))

    def _begin(self, space: Space, memory: Any, model: Any) -> None:
        self._space, self._offsets = space, offsets(space.n_numeric, space.n_levels)
        explorer = explorer_of(self, space.n_actions)
        self._bandit = make_bandit(memory, model, explorer, space.n_actions, self.n_answers)

    def predict(self, context: Context, n_actions: int) -> np.ndarray:
        """Return the probability of each action."""
        refuse_other_actions(n_actions, self._space)
        self._make_room()
        predict_step(self._bandit, *self._taken(context))
        return self._bandit.probabilities.copy()

    def learn(self, context: Context, action: int, reward: float, probability: float) -> None:
        """Learn from the reward of the action that was taken with this probability."""
        if not 0 <= action < self._space.n_actions:
            raise ValueError(f"action is {action}: it was started with actions 0 to {self._space.n_actions - 1}")
        if not (abs(reward) < inf and 0 < probability < inf):
            raise ValueError(f"reward {reward} and probability {probability} must be finite, the latter above 0")
        self._make_room()
        learn_step(self._bandit, *self._taken(context), int(action), float(reward), float(probability))

    def _taken(self, context: Context) -> tuple[np.ndarray, np.ndarray]:
        """Return a context in the kernels' form, or refuse one that is not of the shape it was started with."""
        space, levels = self._space, context.categorical
        numeric = np.array(context.numeric, np.float32)
        if numeric.shape != (space.n_numeric,) or np.shape(levels) != (len(space.n_levels),):
            raise ValueError(f"a context of shape {numeric.shape}, {np.shape(levels)} does not fit {space}")
        if not np.isfinite(numeric).all():
            raise ValueError(f"a context has numbers that are not finite: {numeric}")
        if not all(0 <= level < n for level, n in zip(levels, space.n_levels, strict=True)):
            raise ValueError(f"a context has levels {levels} that do not fit {space}")
        return numeric, as_compiled(np.asarray(levels) + self._offsets, np.int32)

    def save(self, path: str | Path) -> None:
        """Write all that was learned to a file, which `load` turns back into a learner that goes on as this one would.

        What could not be loaded is not saved: contexts with numbers above 1e8 in a memory, for one.

        Examples
        --------
        A learner that is stopped after 50 steps, and goes on in another process, perhaps:

        >>> import tempfile
        >>> from emt import Environment
        >>> from emt._kernels.explore import sample
        >>> from emt.data import load
        >>> from emt.learners import PEMT
        >>> environment = Environment(load("iris"), seed=0)
        >>> def play(learner, steps):
        ...     for step in steps:
        ...         context = Context(environment.numeric[step], environment.categorical[step])
        ...         probabilities = learner.predict(context, environment.space.n_actions)
        ...         action = sample(probabilities, environment.dice[step])
        ...         yield float(action == environment.labels[step])
        ...         learner.learn(context, action, float(action == environment.labels[step]), probabilities[action])
        >>> learner = PEMT()
        >>> learner.start(environment.space, seed=0)
        >>> rewards = list(play(learner, range(50)))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     learner.save(Path(folder, "pemt"))
        ...     again = PEMT.load(Path(folder, "pemt"))
        >>> rewards += play(again, range(50, 150))
        >>> rewards == PEMT().play(environment, seed=0).tolist()
        True
        """
        if not hasattr(self, "_bandit"):
            raise ValueError("there is nothing to save: start the learner first")
        params = {name: value for name, value in self.params.items() if name != "class"}
        about = {"format": FORMAT, "class": type(self).__name__, "params": params, "space": asdict(self._space)}
        parts = {"memory": pack(self._bandit.memory), "model": pack(self._bandit.model)}
        self.unpacked(self._space, **parts)
        parts["explorer"] = pack(self._bandit.explorer)
        arrays = {f"{part}.{name}": array for part, packed in parts.items() for name, array in packed.items()}
        save_arrays(path, about, arrays | {"answers": self._bandit.answers})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a learner that `save` wrote. A file from anywhere is safe to read: it is a learner, or it is refused."""
        with naming(path, f"a {cls.__name__} written by its save"):
            about, arrays = load_arrays(path)
            found = about.get("format"), about.get("class")
            if found != (FORMAT, cls.__name__):
                raise ValueError(f"it is {found[1]!r} of format {found[0]!r}, not {cls.__name__!r} of {FORMAT!r}")
            learner, space = cls(**about["params"]), Space(**about["space"])
            check_counts(0, n_numeric=space.n_numeric)
            check_counts(1, n_actions=space.n_actions)
            space = Space(space.n_numeric, tuple(space.n_levels), space.n_actions)
            for n in space.n_levels:
                check_counts(1, n_levels=n)
            answers = arrays.pop("answers")
            parts: dict[str, Arrays] = {"memory": {}, "model": {}, "explorer": {}}
            for name, array in arrays.items():
                part, _, field = name.partition(".")
                parts[part][field] = array
            explorer = parts.pop("explorer")
            memory, model = learner.unpacked(space, **parts)
            learner._begin(space, memory, model)
            unpack_explorer(learner._bandit.explorer, explorer)
            empty = learner._bandit.answers
            if answers.shape != empty.shape or answers.dtype != empty.dtype or not np.isfinite(answers).all():
                raise ValueError("its answers do not fit its space")
            empty[:] = answers
        return learner

    def unpacked(self, space: Space, memory: Arrays, model: Arrays) -> tuple[Any, Any]:
        """Return the memory and the model of a file, or refuse it, before anything of their size is made."""
        raise TypeError(f"a {type(self).__name__} cannot be loaded")

    def play(self, environment: Environment, seed: int) -> np.ndarray:
        """Run a whole stream, compiled."""
        self.start(environment.space, seed, len(environment))
        codes = np.asarray(environment.categorical) + self._offsets
        stream = Stream(
            numeric=as_compiled(environment.numeric, np.float32),
            codes=as_compiled(codes, np.int32),
            labels=as_compiled(environment.labels, np.int32),
            dice=as_compiled(environment.dice, np.float64),
            rewards=np.zeros(len(environment), np.uint8),
        )
        step = play(self._bandit, stream, 0)
        while step < len(environment):  # a part had no room
            self._make_room()
            step = play(self._bandit, stream, step)
        self.finish()
        return stream.rewards

    def finish(self) -> None:
        """Note down what a reader of the run log should know."""
        self.note = "; ".join(filter(None, map(remark, getattr(self, "_bandit", ())[:2])))

    def _make_room(self) -> None:
        for name in ("memory", "model"):
            while not has_room(getattr(self._bandit, name)):
                self._bandit = self._bandit._replace(**{name: grow(getattr(self._bandit, name))})


def as_compiled(array: np.ndarray, dtype: type) -> np.ndarray:
    """Return an array as the kernels were compiled for; for one that may only be read they would be compiled again."""
    return np.require(array, dtype, ["C", "W"])
