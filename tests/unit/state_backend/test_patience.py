"""How long one answer of etcd is waited for. Its invariant: what is slow, or silent for long, is given more time."""

from __future__ import annotations

from state_backend.etcd.patience import Patience


def patience() -> Patience:
    return Patience(0.5, 5.0)


def test_where_answers_are_fast_little_is_waited_for() -> None:
    waiting = patience()
    waiting.answered(0.01)
    assert waiting.seconds(0.0) == 0.5


def test_an_election_is_waited_out_in_short_steps() -> None:
    waiting = patience()
    waiting.given_up(10.0)
    assert [waiting.seconds(10.0 + later) for later in (0.5, 1.0, 1.5, 2.0)] == [0.5] * 4


def test_a_silence_that_lasts_is_given_ever_more_time() -> None:
    waiting = patience()
    waiting.given_up(10.0)
    waiting.given_up(14.0)
    assert [waiting.seconds(10.0 + later) for later in (4.0, 8.0, 20.0, 100.0)] == [1.0, 2.0, 5.0, 5.0]
    waiting.answered(0.1)
    assert waiting.seconds(110.0) == 0.8


def test_slow_answers_are_waited_for_and_remembered() -> None:
    """Else every answer would be given up a moment before it comes."""
    waiting = patience()
    waiting.answered(0.4)
    assert waiting.seconds(0.0) == 3.2
    waiting.answered(0.01)
    assert waiting.seconds(0.0) > 2.5
    for _ in range(100):
        waiting.answered(0.01)
    assert waiting.seconds(0.0) == 0.5


def test_the_shortest_is_never_longer_than_the_longest() -> None:
    assert Patience(0.5, 0.2).seconds(0.0) == 0.2
