"""How the share of the processors follows what is measured."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from shardfeed.torch._balance import Balance, Balanced


def run(windows: int, training: float, cpu: float, gpu: float, balance: Balance | None = None, slows: float = 0.0) -> tuple[Balance, float]:
    """The share, and the seconds of the last batch. Sides are seconds of a batch that one decodes
    alone; decoding on the device may slow the training.
    """
    balance = balance or Balance()
    step = 0.0
    for _ in range(windows):
        loading = max(balance.share * cpu, (1 - balance.share) * gpu)
        busy = training + slows * (1 - balance.share)
        step = max(busy, loading)
        balance.window(16 * step, 16 * max(0.0, loading - busy), 16)
    return balance, step


def test_a_training_that_does_not_wait_leaves_the_device_alone():
    assert run(100, training=1.0, cpu=0.5, gpu=0.1)[0].share == 1.0


@pytest.mark.parametrize("training", [0.3, 0.5, 0.8])
def test_the_device_takes_what_the_processors_cannot(training):
    balance, step = run(200, training, cpu=1.0, gpu=0.2)
    assert step <= 1.05 * training and 0 < balance.share < 1


def test_both_sides_decode_for_a_fast_training():
    balance, step = run(400, training=0.01, cpu=1.0, gpu=0.5)
    assert step < 0.45, f"share {balance.share}: the device alone takes 0.5"


def test_a_device_that_does_not_help_is_given_up():
    """The wait is for the storage, or decoding holds up the training."""
    balance, step = run(300, training=0.5, cpu=1.0, gpu=4.0)
    assert balance.share > 0.75 and step < 1.1
    balance, _ = run(300, training=0.95, cpu=1.0, gpu=0.1, slows=5.0)
    assert balance.share > 0.95


def test_processors_that_become_free_get_their_part_back():
    balance, _ = run(200, training=0.3, cpu=1.0, gpu=0.2)
    low = balance.share
    assert run(400, training=1.0, cpu=0.5, gpu=0.2, balance=balance)[0].share > low + 0.3


def test_windows():
    shares: list[float] = []

    class Windows(Balance):
        def window(self, seconds: float, waited: float, batches: int) -> bool:
            assert batches == 16 and 0 <= waited <= seconds
            self.share -= 0.25
            return True

    batches = iter(range(40))
    balanced = Balanced(batches, Windows(), shares.append)
    assert [next(balanced) for _ in range(40)] == list(range(40))
    assert shares == [0.75, 0.5]
