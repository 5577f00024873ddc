"""Tests of the rows: `python3 -m unittest discover contenders/python/shared`."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))

import event_loop_rows as rows
from palio_harness import Batched, Outcome

BATCH = 3

# Names, settings, and what an iteration is to give under the salt 7.
CONTENTION = {"producers": 4, "messages": 25}
PERMITS = {"tasks": 6, "permits": 5}
RECEIVED = Outcome(4950 + 100 * 7, 100, 100)
ANSWERED = Outcome(5050 + 100 * 7, 100, 100)
ACQUIRED = Outcome(6, 6, 6)

IN_ONE_ROOT = [
    ("fan_in", {"senders": 100, "buffer": 1, "reader": "first"}, RECEIVED),
    ("fan_in", {"senders": 100, "buffer": 1, "reader": "last"}, RECEIVED),
    ("native_sync/mpsc_contention", CONTENTION, RECEIVED),
    ("native_sync/mpsc_uncontended", {"messages": 100}, RECEIVED),
    ("native_sync/request_reply", {"requests": 100}, ANSWERED),
    ("native_sync/semaphore_contention", PERMITS, ACQUIRED),
    ("native_sync/semaphore_uncontended", PERMITS, ACQUIRED),
]

EACH_IN_ITS_OWN = [
    ("sync_mpsc/contention", CONTENTION, RECEIVED),
    ("sync_mpsc/uncontended", {"messages": 100}, RECEIVED),
    ("sync_mpsc_oneshot/request_reply", {"requests": 100}, ANSWERED),
    ("sync_semaphore/contention", PERMITS, ACQUIRED),
    ("sync_semaphore/uncontended", PERMITS, ACQUIRED),
]


def sample(row: str, settings: dict[str, object]) -> tuple[list[Outcome], int]:
    """What the iterations of one sample gave, and how often they entered the event loop."""
    entries = 0

    class Runner(rows.asyncio.Runner):
        def run(self, *arguments: object, **named: object) -> object:
            nonlocal entries
            entries += 1
            return super().run(*arguments, **named)

    outcomes: list[Outcome] = []
    with (
        mock.patch("event_loop_rows.runner", Runner),
        rows.WORKLOADS[row].open(threads=1, salt=7, root="worker", **settings) as iteration,
    ):
        entries = 0  # What is made before the first sample is made there, too.
        if isinstance(iteration, Batched):
            assert iteration.work(BATCH, outcomes.append) > 0
        else:
            outcomes.extend(iteration() for _ in range(BATCH))
        return outcomes, entries


class RootsTest(unittest.TestCase):
    def test_all_iterations_of_a_sample_are_in_one_root(self) -> None:
        for row, settings, outcome in IN_ONE_ROOT:
            with self.subTest(row, **settings):
                self.assertEqual(sample(row, settings), ([outcome] * BATCH, 1))

    def test_an_iteration_of_a_row_of_the_document_has_its_own_root(self) -> None:
        for row, settings, outcome in EACH_IN_ITS_OWN:
            with self.subTest(row, **settings):
                self.assertEqual(sample(row, settings), ([outcome] * BATCH, BATCH))

    def test_the_semaphore_lives_on(self) -> None:
        for row in ("native_sync/semaphore_contention", "sync_semaphore/contention"):
            with self.subTest(row):
                made = mock.Mock(side_effect=rows.asyncio.Semaphore)
                with mock.patch("event_loop_rows.asyncio.Semaphore", made):
                    sample(row, PERMITS)
                made.assert_called_once_with(5)


if __name__ == "__main__":
    unittest.main()
