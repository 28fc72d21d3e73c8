"""Taking turns: who runs when."""

from edgefaced.benchmark.turns import Contender, take_turns


def test_each_turn_settles_warms_up_and_counts_one_and_the_order_moves_on() -> None:
    log: list[str] = []
    contenders = [
        Contender(name, lambda name=name: log.append(name))  # type: ignore[misc]  # binds now
        for name in "abc"
    ]
    rounds: list[int] = []
    timed = take_turns(contenders, 2, settle=lambda: log.append("|"), told=rounds.append)
    assert "".join(log) == "|aa|bb|cc" + "|bb|cc|aa"
    assert rounds == [1, 2]
    assert [t.name for t in timed] == ["a", "b", "c"]
    assert all(len(t.times_ms) == 2 and min(t.times_ms) >= 0 for t in timed)
    assert all(len(t.cpu_ms) == 2 and min(t.cpu_ms) >= 0 for t in timed)
