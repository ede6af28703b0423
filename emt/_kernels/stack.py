"""A stack of models: six numbers about each action, and a least squares that learns whom to trust.

Wolpert. Stacked generalization. Neural Networks 1992. The numbers are

    z = [1, J, R, M, c, c m]

J is what the joint model predicts, the parametric learner's with m as one more feature; R what a ridge regression of
its own does; m the reward of the nearest memory, M the mean of the nearest ones of the same action, and c how near
these are. A memory that answers with m alone has M = m and c = 0. What is switched off is 0, and so is its weight.

All are predicted before the reward is seen. The least squares begins with J alone, so that the stack is PEMT at first;
six weights are learned in tens of steps, where one memory feature among thousands of others learns slowly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from emt._kernels.compile import inner
from emt._kernels.guard import Guard, compare, distrusts
from emt._kernels.least_squares import fit
from emt._kernels.linear import Linear
from emt._kernels.parts import begin, grow, has_room, judge, learn, pack, remark, uncertainty
from emt._kernels.records import record

__all__ = ["ASKED", "Stack", "allocate_stack", "own_arrays"]

ONE, JOINT, RIDGE, MEAN, NEAR, NEAR_VALUE = range(6)
N_NUMBERS = 6
REMEMBERED, NEIGHBOURS_MEAN, NEARNESS = range(3)  # of a memory's answers
PENALTY = 10.0  # on the distance of the weights from where they start: PEMT
LEAST, MOST = -0.5, 1.5  # what is predicted beyond counts as this: rewards are 0 to 1, and these are not yet ties

#: What was asked for, whether z is that of a prediction whose reward has not been seen yet, and what was best then.
OPTIONS = [
    ("ridge", "?"),
    ("neighbours", "?"),
    ("confidence", "?"),
    ("guard", "?"),
    ("forgetting", "f8"),
    ("asked", "?"),
    ("best", "i8"),  # action of the stack
    ("best_joint", "i8"),  # action of the joint model
]
ASKED = ("asked", "best", "best_joint")


class Stack(NamedTuple):
    """The models, the least squares over them, and what they say of each action of the context at hand."""

    options: Any
    joint: Linear
    ridge: Any  # a Ridge, a FirstOrder, or None
    weight: np.ndarray
    inverse: np.ndarray
    image: np.ndarray
    guard: Guard
    z: np.ndarray  # a row for each action
    predicted: np.ndarray  # by one model or the other


def allocate_stack(
    joint: Linear,
    ridge: Any,
    n_actions: int,
    *,
    neighbours: bool,
    confidence: bool,
    guard: bool,
    forgetting: float,
) -> Stack:
    """Return a stack of these models that has learned nothing."""
    options = record(
        OPTIONS,
        ridge=ridge is not None,
        neighbours=neighbours,
        confidence=confidence,
        guard=guard,
        forgetting=forgetting,
    )
    weight, image = np.zeros((2, N_NUMBERS))
    weight[JOINT] = 1
    z, predicted = np.zeros((n_actions, N_NUMBERS)), np.zeros(n_actions)
    return Stack(options, joint, ridge, weight, np.eye(N_NUMBERS) / PENALTY, image, Guard(np.zeros(2)), z, predicted)


@begin.of(Stack)
def begin_stack(stack: Stack, numeric: np.ndarray, codes: np.ndarray) -> None:
    """Let the models get ready for a context."""
    begin(stack.joint, numeric, codes)
    begin(stack.ridge, numeric, codes)


@judge.of(Stack)
def judge_stack(stack: Stack, answers: np.ndarray, values: np.ndarray) -> None:
    """Write z and each action's value; that of the joint model alone while the guard distrusts the stack."""
    options, z, predicted = stack.options, stack.z, stack.predicted
    judge(stack.joint, answers, predicted)
    for a in range(len(values)):
        z[a, ONE], z[a, JOINT] = 1, _within(predicted[a])
    if options.ridge:
        judge(stack.ridge, answers, predicted)
        for a in range(len(values)):
            z[a, RIDGE] = _within(predicted[a])
    n_answers = answers.shape[1]
    for a in range(len(values)):
        if options.neighbours:
            z[a, MEAN] = answers[a, NEIGHBOURS_MEAN if n_answers > 1 else REMEMBERED]
        if options.confidence and n_answers > 1:
            z[a, NEAR] = answers[a, NEARNESS]
            z[a, NEAR_VALUE] = answers[a, NEARNESS] * answers[a, REMEMBERED]
        values[a] = 0
        for i in range(N_NUMBERS):
            values[a] += stack.weight[i] * z[a, i]
    options.asked, options.best, options.best_joint = True, _best(values), _best(z[:, JOINT])
    if options.guard and distrusts(stack.guard):
        for a in range(len(values)):
            values[a] = z[a, JOINT]


@inner
def _within(value: float) -> float:
    """Return a prediction within bounds."""
    value = value if value < MOST else MOST  # not a number, too
    return value if value > LEAST else LEAST


@uncertainty.of(Stack)
def stack_uncertainty(stack: Stack, widths: np.ndarray) -> None:
    """Write the ridge's uncertainty of each action."""
    uncertainty(stack.ridge, widths)


@learn.of(Stack)
def learn_stack(
    stack: Stack, numeric: np.ndarray, codes: np.ndarray, action: int, answers: np.ndarray, reward: float, weight: float
) -> None:
    """Learn the reward of the action taken: first the stack, of what was predicted, then the models."""
    options = stack.options
    if options.asked:
        compare(stack.guard, options.best, options.best_joint, action, reward, 1 / (len(stack.z) * weight))
        z = stack.z[action]
        fit(stack.weight, stack.inverse, stack.image, z, reward, np.sqrt(weight), options.forgetting)
        options.asked = False
    learn(stack.joint, numeric, codes, action, answers, reward, weight)
    learn(stack.ridge, numeric, codes, action, answers, reward, weight)


@inner
def _best(values: np.ndarray) -> int:
    """Return the first of the greatest."""
    best = 0
    for a in range(len(values)):
        if values[a] > values[best]:
            best = a
    return best


@has_room.of(Stack)
def stack_has_room(stack: Stack) -> bool:
    """Tell whether the models have room."""
    return has_room(stack.joint)


@grow.register
def grow_stack(stack: Stack) -> Stack:
    """Return the stack with more room in its joint model; the ridge needs none."""
    return stack._replace(joint=grow(stack.joint))


@remark.register
def remark_stack(stack: Stack) -> str:
    """Return what its models remark."""
    return "; ".join(filter(None, map(remark, (stack.joint, stack.ridge))))


@pack.register
def pack_stack(stack: Stack) -> dict[str, np.ndarray]:
    """Return the arrays that a stack can be rebuilt from."""
    models = {"joint": pack(stack.joint), "ridge": pack(stack.ridge)}
    return own_arrays(stack) | {
        f"{model}.{name}": array for model, packed in models.items() for name, array in packed.items()
    }


def own_arrays(stack: Stack) -> dict[str, np.ndarray]:
    """Return the arrays that are the stack's own."""
    asked = np.array([stack.options[name] for name in ASKED], np.int64)
    return {
        "weight": stack.weight,
        "inverse": stack.inverse,
        "guard": stack.guard.sums,
        "z": stack.z,
        "asked": asked,
    }
