from experiments.memory import PROCESS, forget_peak, peak_memory


def test_the_peak_is_of_what_came_since_it_was_forgotten():
    large = bytearray(b"x") * 200_000_000
    before = peak_memory()
    assert before > len(large)
    del large
    if (PROCESS / "clear_refs").exists():
        forget_peak()
        assert peak_memory() < before - 100_000_000
        medium = bytearray(b"x") * 50_000_000
        assert before > peak_memory() > len(medium)


def test_where_the_system_does_not_say_the_peak_is_that_of_the_process(monkeypatch, tmp_path):
    monkeypatch.setattr("experiments.memory.PROCESS", tmp_path / "nothing")
    forget_peak()
    assert peak_memory() > 10_000_000
