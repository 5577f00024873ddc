"""Tests of the rows: `python3 -m unittest discover contenders/python/shared`."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))

import event_loop_rows as rows
from palio_harness import Batched, Outcome


class FanInTest(unittest.TestCase):
    def test_all_iterations_of_a_sample_are_in_one_root(self) -> None:
        for reader in ("first", "last"):
            with self.subTest(reader):
                entries = 0

                class Runner(rows.asyncio.Runner):
                    def run(self, *arguments: object, **named: object) -> object:
                        nonlocal entries
                        entries += 1
                        return super().run(*arguments, **named)

                settings = {"senders": 10, "buffer": 1, "reader": reader, "root": "worker"}
                outcomes: list[Outcome] = []
                with (
                    mock.patch("event_loop_rows.runner", Runner),
                    rows.WORKLOADS["fan_in"].open(threads=1, salt=7, **settings) as iteration,
                ):
                    self.assertIsInstance(iteration, Batched)
                    iteration.work(3, outcomes.append)
                self.assertEqual(outcomes, [Outcome(45 + 10 * 7, 10, 10)] * 3)
                self.assertEqual(entries, 1)


if __name__ == "__main__":
    unittest.main()
