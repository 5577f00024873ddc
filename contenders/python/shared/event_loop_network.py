"""More rows of event loops: those about sockets, and the price of one spawn."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager

import event_loop_rows as rows
from event_loop_rows import WORKLOADS, runner, season, steady, wrapped
from palio_harness import Iteration, Outcome, Prepared, Serving, Unsupported, Workload, mix, one_of, positive, whole

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


# An echo server, asked by Palio at a fixed rate


def request_bytes(text: str) -> int:
    size = whole(text)
    if size < 8:
        raise ValueError("a request has a number, which takes 8 bytes")
    return size


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: int) -> tuple[int, int]:
    """Answers each request of a connection. The sum of their numbers, and how many there were."""
    total = requests = 0
    while True:
        try:
            request = await reader.readexactly(size)
        except asyncio.IncompleteReadError as end:
            if end.partial:
                raise
            break
        writer.write(request)
        await writer.drain()
        total += int.from_bytes(request[:8], "little")
        requests += 1
    writer.close()
    await writer.wait_closed()
    return total, requests


class EchoServer:
    """The listener of a process. Its connections are tasks of the group of an iteration."""

    def __init__(self, connections: int, size: int) -> None:
        self.connections = connections
        self.size = size
        self.group: asyncio.TaskGroup | None = None
        self.tasks: list[asyncio.Task[tuple[int, int]]] = []
        self.all_accepted = asyncio.Event()

    async def listen(self) -> asyncio.Server:
        return await asyncio.start_server(self.accept, "127.0.0.1", 0, backlog=self.connections)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tasks.append(self.group.create_task(echo(reader, writer, self.size)))
        if len(self.tasks) == self.connections:
            self.all_accepted.set()

    async def serve(self) -> Outcome:
        """Nobody connects before this was announced, and nobody is accepted while no loop runs."""
        self.tasks = []
        self.all_accepted.clear()
        # In a group the error of one connection leaves the process as an exception.
        async with asyncio.TaskGroup() as self.group:
            await self.all_accepted.wait()
        total = requests = 0
        for task in self.tasks:
            task_total, task_requests = task.result()
            total += task_total
            requests += task_requests
        return Outcome(wrapped(total), requests, requests)


@contextmanager
def open_tcp_echo(threads: int, salt: int, connections: int, bytes: int, **untold: int) -> Iterator[Iteration]:
    """`untold` says when requests come, and how many, which is for those who ask."""
    with runner() as steady_runner:
        server = EchoServer(connections, bytes)
        try:
            listener = steady_runner.run(server.listen())
        except OSError as error:
            raise Unsupported(f"cannot listen: {error}") from error
        try:
            yield Serving(listener.sockets[0].getsockname()[1], lambda: steady_runner.run(server.serve()))
        finally:
            listener.close()


WORKLOADS["tcp_echo_latency"] = Workload(
    {"connections": positive, "bytes": request_bytes, "rate": positive, "requests": positive}, open_tcp_echo
)


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
