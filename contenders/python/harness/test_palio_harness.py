"""Tests of the harness: `python3 -m unittest discover contenders/python/harness`."""

from __future__ import annotations

import io
import re
import tomllib
import unittest
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from palio_harness import (
    Batched,
    Contender,
    Iteration,
    Knob,
    Outcome,
    Prepared,
    Serving,
    Workload,
    one_of,
    positive,
    serve,
    whole,
)

VECTORS = Path(__file__).resolve().parents[3] / "crates" / "palio-protocol" / "vectors" / "conformance.toml"


class Recorder:
    """A contender whose workloads write down what happens to them."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.now_ns = 0
        self.contender = Contender(
            id="recorder",
            runtime="none",
            version="1.2 three",
            workloads={
                "count": Workload({"n": positive}, self.count),
                "pick": Workload({"reader": one_of("first", "last")}, self.pick),
                "change": Workload({}, self.change),
                "prepare": Workload({}, self.prepare),
                "serve": Workload({}, self.serve),
                "together": Workload({}, self.together),
                "uncounted": Workload({}, self.uncounted),
            },
            knobs={"spin": Knob("61", whole)},
            threads_max=2,
            toolchain="cc 9",
            flags="-",
        )

    @contextmanager
    def count(self, threads: int, salt: int, n: int, spin: int) -> Iterator[Iteration]:
        self.events.append(f"start threads={threads} salt={salt} n={n} spin={spin}")
        try:
            yield lambda: Outcome(n, n, 2 * n)
        finally:
            self.events.append("stop")

    @contextmanager
    def pick(self, threads: int, salt: int, reader: str, spin: int) -> Iterator[Iteration]:
        yield lambda: Outcome(reader, 1, 1)

    @contextmanager
    def change(self, threads: int, salt: int, spin: int) -> Iterator[Iteration]:
        answers = iter([5, 5, 6, 7])
        yield lambda: Outcome(next(answers), 1, 1)

    @contextmanager
    def prepare(self, threads: int, salt: int, spin: int) -> Iterator[Iteration]:
        def happen(event: str, duration_ns: int) -> str:
            self.events.append(event)
            self.now_ns += duration_ns
            return event

        def conclude(prepared: str, result: str) -> Outcome:
            happen("conclude", 1_000)
            return Outcome(f"{prepared}+{result}", 1, 1)

        yield Prepared(lambda: happen("prepare", 1_000), lambda prepared: happen("work", 7), conclude)

    @contextmanager
    def serve(self, threads: int, salt: int, spin: int) -> Iterator[Iteration]:
        def work() -> Outcome:
            self.now_ns += 7
            return Outcome("a", 1, 1)

        yield Serving(4711, work)

    @contextmanager
    def together(self, threads: int, salt: int, spin: int) -> Iterator[Iteration]:
        answers = iter([5, 5, 5, 6, 7])

        def work(batch: int, add: Callable[[Outcome], None]) -> int:
            self.events.append(f"batch of {batch}")
            self.now_ns += 1000  # The way there, and, below, the way back.
            for _ in range(batch):
                add(Outcome(next(answers), 2, 3))
            self.now_ns += 1000
            return 7

        yield Batched(work)

    @contextmanager
    def uncounted(self, threads: int, salt: int, spin: int) -> Iterator[Iteration]:
        works = iter([1, None, 1])
        yield lambda: Outcome("a", 1, next(works))

    def play(self, arguments: Sequence[str], commands: bytes = b"") -> tuple[int, list[str], str]:
        answers, errors = io.StringIO(), io.StringIO()
        status = serve(self.contender, arguments, io.BytesIO(commands), answers, errors)
        return status, answers.getvalue().splitlines(), errors.getvalue()


def arguments_for(workload: str, *settings: str, threads: int = 1) -> list[str]:
    arguments = ["--workload", workload, "--threads", str(threads), "--salt", "7"]
    for setting in settings:
        arguments += ["--set", setting]
    return arguments


def matches(pattern: str, line: str) -> bool:
    """Whether a line is what a vector says: `#` is a number of at least 1, `?` a number or `-`."""
    expression = re.escape(pattern).replace(r"\#", "0*[1-9][0-9]*").replace(r"\?", "([0-9]+|-)")
    return re.fullmatch(expression, line) is not None


class VectorsTest(unittest.TestCase):
    def test_every_vector(self) -> None:
        vectors = tomllib.loads(VECTORS.read_text(encoding="utf-8"))["vector"]
        self.assertGreater(len(vectors), 0)
        for vector in vectors:
            with self.subTest(vector["name"]):
                status, lines, errors = Recorder().play(vector["args"], vector["stdin"].encode())
                if "conformance/forks" in vector["args"] and status == 3:  # This harness counts no forks.
                    self.assertTrue(vector["optional"])
                    self.assertEqual(lines, [])
                    continue
                self.assertEqual(status, vector["status"], errors)
                self.assertEqual(len(lines), len(vector["stdout"]), lines)
                for pattern, line in zip(vector["stdout"], lines):
                    self.assertTrue(matches(pattern, line), f"{line!r} is not {pattern!r}")
                self.assertIn(vector.get("stderr", ""), errors)


class DescriptionTest(unittest.TestCase):
    def test_description(self) -> None:
        status, lines, _ = Recorder().play(["--describe"])
        self.assertEqual(status, 0)
        self.assertEqual(
            lines,
            [
                "protocol 2",
                "id recorder",
                "runtime none 1.2 three",
                "toolchain cc 9",
                "flags -",
                "workload count",
                "workload pick",
                "workload change",
                "workload prepare",
                "workload serve",
                "workload together",
                "workload uncounted",
                "knob spin 61",
            ],
        )

    def test_description_with_more(self) -> None:
        status, lines, errors = Recorder().play(["--describe", "--threads", "1"])
        self.assertEqual((status, lines), (2, []))
        self.assertIn("--describe", errors)


class ArgumentsTest(unittest.TestCase):
    def refused(self, status: int, reason: str, arguments: Sequence[str]) -> None:
        recorder = Recorder()
        seen, lines, errors = recorder.play(arguments, b"run 1\n")
        self.assertEqual((seen, lines, recorder.events), (status, [], []), errors)
        self.assertIn(reason, errors)

    def test_too_many_threads(self) -> None:
        self.refused(3, "--threads 3", arguments_for("count", "n=1", threads=3))

    def test_options_given_twice(self) -> None:
        self.refused(2, "--workload", [*arguments_for("count", "n=1"), "--workload", "count"])
        self.refused(2, "--threads", [*arguments_for("count", "n=1"), "--threads", "1"])

    def test_numbers_are_digits_alone(self) -> None:
        for text in ("", "-1", "+1", "1_000", "0x1", "1.0", "٣", "18446744073709551616", "9" * 5000):
            with self.subTest(text):
                self.refused(2, f"n={text}", arguments_for("count", f"n={text}"))

    def test_zero_where_one_is_the_least(self) -> None:
        self.refused(2, "n=0", arguments_for("count", "n=0"))

    def test_a_word_that_is_no_choice(self) -> None:
        self.refused(2, "middle", arguments_for("pick", "reader=middle"))

    def test_an_argument_that_is_not_utf8(self) -> None:
        self.refused(2, "UTF-8", arguments_for("pick", "reader=\udcff"))

    def test_knobs(self) -> None:
        for settings, spin in ((["n=1"], 61), (["n=1", "spin=7"], 7)):
            recorder = Recorder()
            recorder.play(arguments_for("count", *settings))
            self.assertEqual(recorder.events, [f"start threads=1 salt=7 n=1 spin={spin}", "stop"])
        self.refused(2, "spin=fast", arguments_for("count", "n=1", "spin=fast"))


class CommandsTest(unittest.TestCase):
    def test_the_runtime_lives_from_the_first_command_to_the_last(self) -> None:
        recorder = Recorder()
        status, lines, _ = recorder.play(arguments_for("count", "n=3", threads=2), b"run 1\r\nrun 1 2\nquit\nrun 1\n")
        self.assertEqual((status, len(lines)), (0, 4))
        self.assertEqual(recorder.events, ["start threads=2 salt=7 n=3 spin=61", "stop"])
        self.assertIn(" ops=6 answer=3 work=12 ", lines[2])

    def test_the_runtime_stops_when_a_command_is_refused(self) -> None:
        recorder = Recorder()
        status, lines, errors = recorder.play(arguments_for("count", "n=3"), b"run 1\nquit now\n")
        self.assertEqual((status, len(lines), recorder.events[-1]), (2, 2, "stop"))
        self.assertIn("quit now", errors)

    def test_a_command_that_is_not_utf8(self) -> None:
        status, _, errors = Recorder().play(arguments_for("count", "n=3"), b"run \xff\n")
        self.assertEqual(status, 2)
        self.assertIn("UTF-8", errors)


class SamplesTest(unittest.TestCase):
    def test_answers_that_differ_within_a_batch(self) -> None:
        _, lines, _ = Recorder().play(arguments_for("change"), b"run 1 4\n")
        self.assertIn(" answer=differs:5:6 ", lines[0])

    def test_only_the_work_is_timed(self) -> None:
        recorder = Recorder()
        with mock.patch("palio_harness.time.monotonic_ns", lambda: recorder.now_ns):
            _, lines, _ = recorder.play(arguments_for("prepare"), b"run 1 2\n")
        self.assertEqual(recorder.events, ["prepare", "work", "conclude"] * 2)
        self.assertTrue(lines[0].startswith("sample elapsed_ns=14 ops=2 answer=prepare+work work=2 "), lines[0])

    def test_each_iteration_that_is_served_is_announced(self) -> None:
        recorder = Recorder()
        with mock.patch("palio_harness.time.monotonic_ns", lambda: recorder.now_ns):
            _, lines, _ = recorder.play(arguments_for("serve"), b"run 2 2\n")
        self.assertEqual(lines[:2], ["serving 4711"] * 2)
        self.assertTrue(lines[2].startswith("sample elapsed_ns=14 ops=2 answer=a work=2 "), lines[2])
        self.assertEqual(lines[3:5], ["serving 4711"] * 2)
        self.assertEqual(lines[6:], ["done 2"])

    def test_a_batch_that_is_done_as_a_whole_is_summed_up_alike(self) -> None:
        recorder = Recorder()
        with mock.patch("palio_harness.time.monotonic_ns", lambda: recorder.now_ns):
            _, lines, _ = recorder.play(arguments_for("together"), b"run 1 2\nrun 1 3\n")
        self.assertEqual(recorder.events, ["batch of 2", "batch of 3"])
        self.assertTrue(lines[0].startswith("sample elapsed_ns=7 ops=4 answer=5 work=6 "), lines[0])
        self.assertTrue(lines[2].startswith("sample elapsed_ns=7 ops=6 answer=differs:5:6 work=9 "), lines[2])

    def test_no_sample_takes_no_time(self) -> None:
        with mock.patch("palio_harness.time.monotonic_ns", lambda: 5):
            _, lines, _ = Recorder().play(arguments_for("count", "n=1"), b"run 1\n")
        self.assertTrue(lines[0].startswith("sample elapsed_ns=1 "), lines[0])

    def test_work_that_is_not_always_counted(self) -> None:
        _, lines, _ = Recorder().play(arguments_for("uncounted"), b"run 1 3\n")
        self.assertIn(" work=- ", lines[0])


if __name__ == "__main__":
    unittest.main()
