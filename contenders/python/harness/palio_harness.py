"""The contract between Palio and a contender (docs/protocol.md, version 1), for contenders in Python.

A contender builds one `Contender` and hands it to `main`. The harness reads the arguments and the commands, keeps the
clock and prints; the contender only does the work. Standard library only, Python 3.11 or newer.
"""

from __future__ import annotations

import platform
import re
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NoReturn, TextIO

try:
    import resource
except ImportError:  # Windows has no getrusage.
    resource = None

PROTOCOL = 2
NUMBER_MAX = 2**64 - 1


class Misunderstood(Exception):
    """Arguments or a command that cannot be understood: exit status 2."""


class Unsupported(Exception):
    """A workload, or a number of threads, that this contender does not support: exit status 3."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one iteration computed and really did; `work` is None where counting is not free."""

    answer: int | str
    ops: int
    work: int | None
    events_ns: Sequence[int] = ()
    """What each event of the iteration took, in ns, where the workload consists of events."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """An iteration with parts that stay outside the clock: only `work` is timed.

    `work` gets what `prepare` returned, and `conclude` gets that and what `work` returned.
    """

    prepare: Callable[[], Any]
    work: Callable[[Any], Any]
    conclude: Callable[[Any, Any], Outcome]


@dataclass(frozen=True, slots=True)
class Serving:
    """An iteration that clients outside of this process ask for.

    Somebody listens at `port` of 127.0.0.1 already; `work` accepts connections, and serves them to their end.
    """

    port: int
    work: Callable[[], Outcome]


@dataclass(frozen=True, slots=True)
class Batched:
    """Iterations of one sample that belong together, such as in one entry into a runtime.

    `work` gets how many there are to be, and what takes the outcome of each. It returns how many ns they took, from
    before the first until after the last, by the clock where they are done: the way there and back is not timed.
    """

    work: Callable[[int, Callable[[Outcome], None]], int]


Iteration = Callable[[], Outcome] | Prepared | Serving | Batched
Parse = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload that this contender can run.

    `open` gets the number of threads, the salt and the settings (each parameter, and each knob turned or not) as keyword
    arguments. It starts the runtime on entry, where the scope is steady, and stops it on exit; what it yields is run
    once an iteration, or, if that is `Batched`, once a sample.
    """

    parameters: Mapping[str, Parse]
    open: Callable[..., AbstractContextManager[Iteration]]


@dataclass(frozen=True, slots=True)
class Knob:
    """Something that the user may turn with `--set`, beside the parameters."""

    default: str
    parse: Parse


@dataclass(frozen=True, slots=True)
class Contender:
    id: str
    runtime: str
    version: str
    workloads: Mapping[str, Workload]
    knobs: Mapping[str, Knob] = field(default_factory=dict)
    threads_max: int | None = None
    toolchain: str = ""
    flags: str = ""


# Values


def whole(text: str) -> int:
    """Decimal digits alone: no sign, no space, no underscore, all of which `int` would accept."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"'{text}' is not a whole number in decimal digits")
    # No 64-bit number has more digits, leading zeros aside, and `int` itself refuses thousands of
    # them.
    digits = text.lstrip("0") or "0"
    if len(digits) > 20 or int(digits) > NUMBER_MAX:
        raise ValueError(f"'{text}' does not fit in 64 bits")
    return int(digits)


def positive(text: str) -> int:
    """A number of at least 1."""
    number = whole(text)
    if number == 0:
        raise ValueError("0 is too small; the least is 1")
    return number


def one_of(*choices: str) -> Parse:
    """One of a few words."""

    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"'{text}' is none of {', '.join(choices)}")
        return text

    return parse


# The salt


def mix(salt: int, index: int) -> int:
    """One output of splitmix64, from the state salt + index."""
    x = (salt + index + 0x9E3779B97F4A7C15) & NUMBER_MAX
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & NUMBER_MAX
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & NUMBER_MAX
    return x ^ x >> 31


# The workloads that check a harness: they use no runtime and take any number of threads


def _work_or_uncounted(text: str) -> int | None:
    return None if text == "-" else whole(text)


@contextmanager
def _conformance(threads: int, salt: int, answer: str, ops: int, work: int | None) -> Iterator[Iteration]:
    yield lambda: Outcome(answer, ops, work)


def _whole_numbers(text: str) -> list[int]:
    return [whole(word) for word in text.split(",")]


@contextmanager
def _conformance_events(
    threads: int, salt: int, answer: str, ops: int, work: int | None, events: list[int]
) -> Iterator[Iteration]:
    yield lambda: Outcome(answer, ops, work, events)


@contextmanager
def _conformance_salt(threads: int, salt: int, index: int) -> Iterator[Iteration]:
    yield lambda: Outcome(mix(salt, index), 1, 1)


_GIVEN: dict[str, Parse] = {"answer": str, "ops": whole, "work": _work_or_uncounted}
CONFORMANCE = {
    "conformance": Workload(_GIVEN, _conformance),
    "conformance/events": Workload({**_GIVEN, "events": _whole_numbers}, _conformance_events),
    "conformance/salt": Workload({"index": whole}, _conformance_salt),
}


# Arguments


@dataclass(slots=True)
class _Arguments:
    workload: str
    threads: int
    salt: int
    settings: dict[str, str]
    count_forks: bool


def _parse_arguments(arguments: Sequence[str]) -> _Arguments:
    workload: str | None = None
    threads: int | None = None
    salt: int | None = None
    settings: dict[str, str] = {}
    for argument in arguments:
        if any("\ud800" <= character <= "\udfff" for character in argument):  # Python's stand-in for a stray byte
            raise Misunderstood(f"{argument!r} is not UTF-8")
    count_forks = False
    rest = iter(arguments)
    for option in rest:
        if option == "--count-forks":
            if count_forks:
                raise Misunderstood("--count-forks is given twice")
            count_forks = True
            continue
        if option not in ("--workload", "--threads", "--salt", "--set"):
            raise Misunderstood(f"unknown option '{option}'")
        value = next(rest, None)
        if value is None:
            raise Misunderstood(f"{option} needs a value")
        if option == "--workload":
            if workload is not None:
                raise Misunderstood("--workload is given twice")
            workload = value
        elif option == "--threads":
            if threads is not None:
                raise Misunderstood("--threads is given twice")
            try:
                threads = positive(value)
            except ValueError as error:
                raise Misunderstood(f"--threads: {error}") from None
        elif option == "--salt":
            if salt is not None:
                raise Misunderstood("--salt is given twice")
            try:
                salt = whole(value)
            except ValueError as error:
                raise Misunderstood(f"--salt: {error}") from None
        else:
            key, equals, text = value.partition("=")
            if not (key and equals):
                raise Misunderstood(f"--set {value}: not of the form KEY=VALUE")
            if any(character.isspace() for character in value):
                raise Misunderstood(f"--set {value}: white space is not allowed")
            if key in settings:
                raise Misunderstood(f"--set {key} is given twice")
            settings[key] = text
    if workload is None:
        raise Misunderstood("--workload is missing")
    if threads is None:
        raise Misunderstood("--threads is missing")
    if salt is None:
        raise Misunderstood("--salt is missing")
    return _Arguments(workload, threads, salt, settings, count_forks)


def _find_workload(contender: Contender, arguments: _Arguments) -> tuple[Workload, dict[str, Any]]:
    """The workload that the arguments ask for, and the values of its parameters and of the contender's knobs."""
    if arguments.workload in CONFORMANCE:
        workload, knobs = CONFORMANCE[arguments.workload], {}
    else:
        workload, knobs = contender.workloads.get(arguments.workload), contender.knobs
        if workload is None:
            raise Unsupported(f"the workload '{arguments.workload}' is not supported by {contender.id}")
        if contender.threads_max is not None and arguments.threads > contender.threads_max:
            raise Unsupported(
                f"--threads {arguments.threads}: {contender.id} uses at most {contender.threads_max}"
            )
    for key in arguments.settings:
        if key not in workload.parameters and key not in knobs:
            raise Misunderstood(f"--set {key}: {arguments.workload} has no such parameter or knob")
    for key in workload.parameters:
        if key not in arguments.settings:
            raise Misunderstood(f"the parameter '{key}' of {arguments.workload} is missing")
    values = {}
    for key, parse in [*workload.parameters.items(), *((key, knob.parse) for key, knob in knobs.items())]:
        text = arguments.settings[key] if key in arguments.settings else knobs[key].default
        try:
            values[key] = parse(text)
        except ValueError as error:
            raise Misunderstood(f"--set {key}={text}: {error}") from None
    if arguments.count_forks:
        raise Unsupported(f"the forks of '{arguments.workload}' are not counted by {contender.id}")
    return workload, values


# Commands


def _parse_run(line: str) -> tuple[int, int]:
    words = line.split()
    if words[0] != "run":
        raise Misunderstood(f"unknown command '{line}'")
    if len(words) not in (2, 3):
        raise Misunderstood(f"'{line}' is not of the form: run SAMPLES [BATCH]")
    try:
        samples, batch = (positive(word) for word in (*words[1:], "1")[:2])
    except ValueError as error:
        raise Misunderstood(f"'{line}': {error}") from None
    return samples, batch


def _obey(iteration: Iteration, commands: BinaryIO, answers: TextIO) -> None:
    """Obeys commands until `quit` or the end of input."""
    for raw in commands:
        try:
            line = raw.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise Misunderstood(f"{raw!r} is not UTF-8") from None
        if not line.strip():
            continue
        if line.split() == ["quit"]:
            return
        samples, batch = _parse_run(line)
        for _ in range(samples):
            print(_take_sample(iteration, batch, answers), file=answers, flush=True)
        print(f"done {samples}", file=answers, flush=True)


# Samples


class _Tally:
    """Adds up the outcomes of a batch, all of which must have the same answer."""

    __slots__ = ("answer", "events_ns", "ops", "other", "work")

    def __init__(self) -> None:
        self.answer: int | str | None = None
        self.other: int | str | None = None
        self.ops = 0
        self.work: int | None = 0
        self.events_ns: list[int] = []

    def add(self, outcome: Outcome) -> None:
        if self.answer is None:
            self.answer = outcome.answer
        elif self.other is None and outcome.answer != self.answer:
            self.other = outcome.answer
        self.ops += outcome.ops
        self.work = None if self.work is None or outcome.work is None else self.work + outcome.work
        self.events_ns.extend(outcome.events_ns)

    def text(self) -> str:
        answer = self.answer if self.other is None else f"differs:{self.answer}:{self.other}"
        return f"ops={self.ops} answer={answer} work={'-' if self.work is None else self.work}"


def _take_sample(iteration: Iteration, batch: int, answers: TextIO) -> str:
    tally = _Tally()
    cpu_before = _cpu_time_us()
    if isinstance(iteration, Prepared):
        elapsed_ns = 0
        for _ in range(batch):
            prepared = iteration.prepare()
            start = time.monotonic_ns()
            result = iteration.work(prepared)
            elapsed_ns += time.monotonic_ns() - start
            tally.add(iteration.conclude(prepared, result))
    elif isinstance(iteration, Serving):
        elapsed_ns = 0
        for _ in range(batch):
            print(f"serving {iteration.port}", file=answers, flush=True)
            start = time.monotonic_ns()
            outcome = iteration.work()
            elapsed_ns += time.monotonic_ns() - start
            tally.add(outcome)
    elif isinstance(iteration, Batched):
        elapsed_ns = iteration.work(batch, tally.add)
    else:
        start = time.monotonic_ns()
        for _ in range(batch):
            tally.add(iteration())
        elapsed_ns = time.monotonic_ns() - start
    cpu_after = _cpu_time_us()
    if cpu_before is None or cpu_after is None:
        user_us, sys_us = "-", "-"
    else:
        user_us, sys_us = (str(after - before) for before, after in zip(cpu_before, cpu_after))
    line = f"sample elapsed_ns={max(elapsed_ns, 1)} {tally.text()} user_us={user_us} sys_us={sys_us}"
    return line + _distribution(tally.events_ns)


def _distribution(events_ns: list[int]) -> str:
    """The end of a sample's line: the distribution, by nearest rank, or nothing if there are no events.

    An event of 0 ns counts as 1 ns: it was shorter than the clock can tell.
    """
    if not events_ns:
        return ""
    events_ns.sort()

    def at(per_mille: int) -> int:
        rank = max(-(-len(events_ns) * per_mille // 1000), 1)
        return max(events_ns[rank - 1], 1)

    return f" events={len(events_ns)} p50_ns={at(500)} p99_ns={at(990)} p999_ns={at(999)} max_ns={at(1000)}"


def _cpu_time_us() -> tuple[int, int] | None:
    if resource is None:
        return None
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return round(usage.ru_utime * 1e6), round(usage.ru_stime * 1e6)


# Description


def interpreter() -> str:
    """The interpreter that runs this program, for `toolchain`."""
    return f"{platform.python_implementation()} {platform.python_version()} {platform.python_compiler()}"


def interpreter_flags() -> str:
    """How the interpreter was built and started, as far as it matters for speed and as far as it says so.

    A distribution may ship the configuration of another build than the executable's, so an optimisation that is not
    there is left unsaid, not denied. Objects come from CPython's own allocator, which is part of the interpreter.
    """
    compiler_flags = (sysconfig.get_config_var("PY_CFLAGS") or "").split()
    optimisations = [flag for flag in compiler_flags if flag.startswith("-O")]
    arguments = sysconfig.get_config_var("CONFIG_ARGS") or ""
    configured = re.findall(r"--(?:enable-optimizations|with-lto)[^\s']*", arguments)
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    debug = bool(sysconfig.get_config_var("Py_DEBUG")) or sys.flags.dev_mode
    return " ".join([*optimisations[-1:], *configured, f"gil={_yes_or_no(gil)}", f"debug={_yes_or_no(debug)}", "allocator=own"])


def _yes_or_no(fact: bool) -> str:
    return "yes" if fact else "no"


def _describe(contender: Contender, answers: TextIO) -> None:
    print(f"protocol {PROTOCOL}", file=answers)
    print(f"id {contender.id}", file=answers)
    print(f"runtime {contender.runtime} {contender.version}", file=answers)
    print(f"toolchain {contender.toolchain or interpreter()}", file=answers)
    print(f"flags {contender.flags or interpreter_flags()}", file=answers)
    for name in contender.workloads:
        print(f"workload {name}", file=answers)
    for name, knob in contender.knobs.items():
        print(f"knob {name} {knob.default}", file=answers)
    answers.flush()


# All of it


def serve(
    contender: Contender, arguments: Sequence[str], commands: BinaryIO, answers: TextIO, errors: TextIO
) -> int:
    """Speaks the contract on the given streams and returns the exit status."""
    try:
        if "--describe" in arguments:
            if len(arguments) != 1:
                raise Misunderstood("--describe stands alone")
            _describe(contender, answers)
            return 0
        parsed = _parse_arguments(arguments)
        workload, values = _find_workload(contender, parsed)
        with workload.open(threads=parsed.threads, salt=parsed.salt, **values) as iteration:
            _obey(iteration, commands, answers)
        return 0
    except Misunderstood as refusal:
        status = 2
        reason = refusal
    except Unsupported as refusal:
        status = 3
        reason = refusal
    print(f"{contender.id}: {reason}", file=errors)
    return status


def main(contender: Contender) -> NoReturn:
    """Speaks the contract on the standard streams and exits."""
    # The contract is in UTF-8 and in lines that end in \n, whatever the locale and the platform
    # prefer.
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.exit(serve(contender, sys.argv[1:], sys.stdin.buffer, sys.stdout, sys.stderr))
