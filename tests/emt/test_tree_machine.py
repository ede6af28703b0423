"""A state machine over learn, query, save and load: what must hold of every tree, at every moment."""

import pickle
import tempfile
from pathlib import Path

import inside
import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from emt import EigenMemoryTree

NUMBERS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5]),
    st.floats(-10, 10, width=16),
    st.sampled_from([1e-300, -1e-30, 1e-8, 1e5, -1e8]),
)
OPTIONS = st.fixed_dictionaries(
    {
        "n_features": st.integers(0, 3),
        "n_levels": st.lists(st.integers(1, 3), max_size=2).map(tuple),
        "n_actions": st.integers(0, 2),
        "leaf_capacity": st.integers(1, 5),
        "budget": st.one_of(st.none(), st.integers(1, 12)),
        "variant": st.sampled_from(["as_run", "as_printed"]),
        "scorer": st.sampled_from(["self_consistent", "interaction"]),
        "router": st.sampled_from(["eigen", "random"]),
        "eviction": st.sampled_from(["lru", "fifo"]),
        "dtype": st.sampled_from(["float64", "float32"]),
        "seed": st.integers(-(2**63), 2**64),
    }
).filter(lambda options: options["n_features"] + len(options["n_levels"]) + options["n_actions"])


class Tree(RuleBasedStateMachine):
    """Values are unique, and so name the memories: reward + number / 1,000,000."""

    @initialize(options=OPTIONS)
    def make(self, options):
        self.options, self.tree = options, EigenMemoryTree(**options)
        self.keys, self.order, self.n_learned = {}, [], 0  # value -> key; values in the order of use

    def draw_key(self, data):
        if self.keys and data.draw(st.booleans()):
            return self.keys[data.draw(st.sampled_from(sorted(self.keys)))]
        return {
            "x": tuple(data.draw(NUMBERS) for _ in range(self.options["n_features"])),
            "categorical": tuple(data.draw(st.integers(0, n - 1)) for n in self.options["n_levels"]),
            "action": data.draw(st.integers(0, self.options["n_actions"] - 1)) if self.options["n_actions"] else None,
        }

    @rule(data=st.data(), reward=st.sampled_from([0.0, 1.0, -3.5]), weight=st.sampled_from([0.0, 0.3, 1.0, 7.0]))
    def learn(self, data, reward, weight):
        key, value = self.draw_key(data), reward + self.n_learned * 1e-6
        known = self.options["variant"] == "as_run" and self.same(key)
        there = {memory.y for memory in inside.leaves(self.tree).get(self.leaf(key), [])}
        self.tree.learn(y=value, weight=weight, id=self.n_learned, **key)
        self.n_learned += 1
        now = [memory.y for memory in self.tree.memories()]
        if self.touches and there:  # learning queries first, in the key's leaf
            touched = now[-1] if known else (now[:-1] or self.order)[-1]
            assert touched in there
            self.touch(touched)
        if not known:
            self.keys[value] = key
            self.order.append(value)
            if self.options["budget"] is not None and len(self.order) > self.options["budget"]:
                del self.keys[self.order.pop(0)]
        assert now == self.order

    @rule(data=st.data())
    def query(self, data):
        key = self.draw_key(data)
        found = self.tree.retrieve(**key)
        if found is None:
            assert not self.order
            return
        assert found.y in self.keys
        assert found.id == round((found.y % 0.5) * 1e6)
        assert found.score == -np.inf or found.score >= 0
        assert inside.leaf(self.tree, found.memory) == self.leaf(key)
        if self.touches:
            self.touch(found.y)
        assert [memory.y for memory in self.tree.memories()] == self.order

    @rule(data=st.data(), k=st.integers(1, 4))
    def look_at_neighbours(self, data, k):
        key, before = self.draw_key(data), inside.state(self.tree)
        found = self.tree.neighbours(k=k, **key)
        assert inside.state(self.tree) == before
        there = inside.leaves(self.tree).get(self.leaf(key), [])
        assert len(found) == min(k, len(there))
        assert {one.y for one in found} <= {memory.y for memory in there}
        assert [one.score for one in found] == sorted(one.score for one in found)

    @rule(data=st.data(), by_id=st.booleans())
    def forget(self, data, by_id):
        key = self.draw_key(data)
        forgotten = self.same(key)
        if by_id:
            forgotten = forgotten[:1]
            id = round((forgotten[0] % 0.5) * 1e6) if forgotten else self.n_learned
            assert self.tree.forget(id=id) == len(forgotten)
        else:
            assert self.tree.forget(**key) == len(forgotten)
        for value in forgotten:
            del self.keys[value]
            self.order.remove(value)
        assert [memory.y for memory in self.tree.memories()] == self.order

    @rule(pickled=st.booleans())
    def save_and_load(self, pickled):
        before = inside.state(self.tree)
        if pickled:
            self.tree = pickle.loads(pickle.dumps(self.tree))
        else:
            with tempfile.TemporaryDirectory() as folder:
                self.tree.save(Path(folder) / "tree")
                self.tree = EigenMemoryTree.load(Path(folder) / "tree")
        assert inside.state(self.tree) == before

    @precondition(lambda self: self.keys)
    @invariant()
    def every_key_returns_its_own_value(self):
        """As run also with the ablation's scorer; of equal keys, the latest answers."""
        if self.options["variant"] == "as_printed" and self.options["scorer"] == "interaction":
            return
        copy = pickle.loads(pickle.dumps(self.tree))  # queries are uses
        for key in self.keys.values():
            assert copy.query(**key) == max(self.same(key), key=lambda value: value % 0.5)

    @invariant()
    def the_tree_is_sound(self):
        # Numbers of very different sizes may project to one point, where single precision has more to lose.
        inside.assert_sound(self.tree, unlike=False)
        assert len(self.tree) == len(self.order)

    @property
    def touches(self):
        return self.options["budget"] is not None and self.options["eviction"] == "lru"

    def touch(self, value):
        self.order.remove(value)
        self.order.append(value)

    def same(self, key):
        """The values stored under a key; in single precision keys that round to the same are the same."""
        return [value for value, stored in self.keys.items() if self.rounded(stored) == self.rounded(key)]

    def rounded(self, key):
        return (*np.array(key["x"], self.options["dtype"]).tolist(), *key["categorical"], key["action"])

    def leaf(self, key):
        return inside.leaf(self.tree, inside.Memory(np.array(key["x"]), key["categorical"], key["action"], 0.0, None))


TestTree = Tree.TestCase
TestTree.settings = settings(
    max_examples=100, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
