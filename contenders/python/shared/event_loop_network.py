"""More rows of event loops: the suite `yaay`, of sockets and of the price of one spawn."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager

import event_loop_rows as rows
from event_loop_rows import WORKLOADS, runner, season, steady, wrapped
from palio_harness import Iteration, Outcome, Prepared, Unsupported, Workload, mix, one_of, positive, whole

try:
    import resource
except ImportError:  # Windows has no limit of this kind.
    resource = None

# How many files a process may have open beside its connections.
FILES_BESIDE = 64


# Round trips over TCP


def connections_allowed(text: str) -> int:
    """A number of connections; raises the soft limit of open files as far as it may be raised."""
    connections = positive(text)
    if resource is not None:
        wanted = 2 * connections + FILES_BESIDE
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < wanted:
            raise Unsupported(f"{wanted} open files are wanted, and the hard limit is {hard}: ulimit -Hn")
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return connections


async def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, round_trips: int) -> tuple[int, int]:
    """The accepting side writes what it read last, and 0 at first. The sum of what it read, and how many bytes."""
    one = bytes(1)
    total = received = 0
    for _ in range(round_trips):
        writer.write(one)
        await writer.drain()
        one = await reader.readexactly(1)
        total += one[0]
        received += 1
    writer.close()
    await writer.wait_closed()
    return total, received


async def answer(port: int, round_trips: int, key: int) -> tuple[int, int]:
    """The connecting side writes what it read plus its key."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    total = received = 0
    for _ in range(round_trips):
        one = await reader.readexactly(1)
        total += one[0]
        received += 1
        writer.write(bytes([(one[0] + key) % 256]))
        await writer.drain()
    writer.close()
    await writer.wait_closed()
    return total, received


@steady("tcp_ping_pong", connections=connections_allowed, round_trips=whole)
async def tcp_ping_pong(connections: int, round_trips: int) -> Outcome:
    accepting: list[asyncio.Task[tuple[int, int]]] = []
    all_accepted = asyncio.Event()
    # In a group the error of one side cancels all others, and leaves the process as an exception.
    async with asyncio.TaskGroup() as group:

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepting.append(group.create_task(begin(reader, writer, round_trips)))
            if len(accepting) == connections:
                all_accepted.set()

        server = await asyncio.start_server(accept, "127.0.0.1", 0, backlog=connections)
        port = server.sockets[0].getsockname()[1]
        connecting = [
            group.create_task(answer(port, round_trips, (mix(rows.SALT, index) | 1) % 256))
            for index in range(connections)
        ]
        await all_accepted.wait()
    server.close()
    await server.wait_closed()
    total = received = trips = 0
    for side in accepting:
        side_total, side_received = side.result()
        total += side_total
        received += side_received
        trips += side_received
    for side in connecting:
        side_total, side_received = side.result()
        total += side_total
        received += side_received
    return Outcome(wrapped(total), trips, received)


# The price of one spawn


class SpawnOne:
    """The tasks of one iteration. They run on the loop's thread alone, so that plain numbers do."""

    def __init__(self, tasks: int) -> None:
        self.tasks = tasks
        self.total = 0
        self.count = 0
        self.ended = threading.Event()

    async def one(self) -> None:
        self.count_one()

    def count_one(self) -> None:
        self.total += rows.SALT + 1
        self.count += 1
        if self.count == self.tasks:
            self.ended.set()

    async def spawn(self) -> None:
        for _ in range(self.tasks):
            # The loop holds a task strongly for as long as it is ready to run.
            asyncio.create_task(self.one())

    async def defer(self) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(self.tasks):
            loop.call_soon(self.count_one)

    def outcome(self) -> Outcome:
        return Outcome(wrapped(self.total), self.count, self.count)


async def until_ended(iteration: SpawnOne) -> None:
    """The tasks are ready before this is, and each runs to its end at once."""
    while not iteration.ended.is_set():
        await asyncio.sleep(0)


@contextmanager
def open_spawn_one(threads: int, salt: int, tasks: int, **settings: str) -> Iterator[Iteration]:
    season(salt)
    # `from` is a word of the language's own.
    opened = spawn_from_outside(tasks) if settings["from"] == "outside" else spawn_from_worker(tasks, SpawnOne.spawn)
    with opened as iteration:
        yield iteration


@contextmanager
def open_defer_one(threads: int, salt: int, tasks: int) -> Iterator[Iteration]:
    season(salt)
    with spawn_from_worker(tasks, SpawnOne.defer) as iteration:
        yield iteration


@contextmanager
def spawn_from_worker(tasks: int, spawn: Callable[[SpawnOne], Coroutine[None, None, None]]) -> Iterator[Iteration]:
    with runner() as steady_runner:

        def conclude(iteration: SpawnOne, result: None) -> Outcome:
            steady_runner.run(until_ended(iteration))
            return iteration.outcome()

        yield Prepared(lambda: SpawnOne(tasks), lambda iteration: steady_runner.run(spawn(iteration)), conclude)


@contextmanager
def spawn_from_outside(tasks: int) -> Iterator[Iteration]:
    with runner() as steady_runner:
        loop = steady_runner.get_loop()
        thread = threading.Thread(target=loop.run_forever, name="event loop")
        thread.start()

        def work(iteration: SpawnOne) -> None:
            for _ in range(tasks):
                asyncio.run_coroutine_threadsafe(iteration.one(), loop)

        def conclude(iteration: SpawnOne, result: None) -> Outcome:
            iteration.ended.wait()
            return iteration.outcome()

        try:
            yield Prepared(lambda: SpawnOne(tasks), work, conclude)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()


WORKLOADS["spawn_one"] = Workload({"tasks": positive, "from": one_of("worker", "outside")}, open_spawn_one)
WORKLOADS["defer_one"] = Workload({"tasks": positive}, open_defer_one)
