"""Many transfers at once: all are done, few wait, and an interrupt waits for none."""

import threading
import time

import pytest

from spade_envs.sharing.transfer import at_once


def test_every_key_is_done_once_and_at_most_so_many_at_a_time():
    running, most, lock = 0, 0, threading.Lock()

    def act(key):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        with lock:
            running -= 1
        return key * 2

    done = list(at_once(range(100), act, 3))
    assert sorted(done) == [(key, key * 2) for key in range(100)]
    assert 1 <= most <= 3


def test_a_failure_waits_for_what_is_under_way():
    ended = threading.Event()

    def act(key):
        if key:
            raise RuntimeError("broken")
        ended.wait(0.2)
        ended.set()

    with pytest.raises(RuntimeError, match="broken"):
        list(at_once([0, 1], act, 2))
    assert ended.is_set()


def test_an_interrupt_does_not():
    hangs = threading.Event()

    def act(key):
        if key == 1:
            raise KeyboardInterrupt
        hangs.wait(30)

    try:
        with pytest.raises(KeyboardInterrupt):
            list(at_once([0, 1], act, 2))
        assert any(each.name.startswith("transfer") for each in threading.enumerate())
    finally:
        hangs.set()


def test_what_is_nearly_done_at_an_interrupt_is_waited_for():
    placed = []

    def act(key):
        if key == 1:
            raise KeyboardInterrupt
        time.sleep(0.1)
        placed.append(key)

    with pytest.raises(KeyboardInterrupt):
        list(at_once([0, 1, 2, 3], act, 2))
    assert 0 in placed
