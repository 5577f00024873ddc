"""The rows of contenders that are event loops with asyncio's interface; their READMEs tell the decisions.

A contender sets `LOOP_FACTORY` where its loop is not asyncio's own, and hands `WORKLOADS` to the harness.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from palio_harness import NUMBER_MAX, Batched, Iteration, Outcome, Parse, Unsupported, Workload
from palio_harness import mix, one_of, positive

WORKLOADS: dict[str, Workload] = {}

# What makes an event loop; None for asyncio's default.
LOOP_FACTORY: Callable[[], asyncio.AbstractEventLoop] | None = None

# What puts a receiver's end to a queue: asyncio.Queue cannot be closed before Python 3.13.
HUNG_UP = None


# The salt, which enters the work as the definitions say; read where it is needed, and not passed
# down to it.
SALT = 0


def season(salt: int) -> None:
    global SALT
    SALT = salt


def wrapped(total: int) -> int:
    """A sum as the definitions want it, modulo 2^64."""
    return total & NUMBER_MAX


def on_worker(text: str) -> str:
    """Where the root runs, in rows that have it on a worker or outside."""
    place = one_of("worker", "outside")(text)
    if place == "outside":
        raise Unsupported("the thread that runs the root is the event loop, and there is no other")
    return place


def runner() -> asyncio.Runner:
    """What `asyncio.run` has inside: a loop that is made when it is first used, and closed at the end."""
    return asyncio.Runner(loop_factory=LOOP_FACTORY)


# Ways to run the work
#
# Whatever the way, one thread runs the event loop, and with it every task. So a counter that tasks
# share is a plain number: nothing else runs between two awaits.

Root = Callable[..., Awaitable[Outcome]]
Background = Callable[..., Awaitable[object]]


def cold(name: str, **parameters: Parse) -> Callable[[Root], Root]:
    """Every iteration makes an event loop, runs the root task and closes the loop."""

    def register(root: Root) -> Root:
        @contextmanager
        def open_workload(threads: int, salt: int, **settings: object) -> Iterator[Iteration]:
            season(salt)

            def run_cold() -> Outcome:
                with runner() as cold_runner:
                    return cold_runner.run(root(**settings))

            yield run_cold

        WORKLOADS[name] = Workload(parameters, open_workload)
        return root

    return register


def steady(
    name: str, background: Background | None = None, in_one: bool = False, **parameters: Parse
) -> Callable[[Root], Root]:
    """One event loop for all samples, each iteration a root task on it, or with `in_one` all those of a sample.

    `background` starts tasks that run beside the work; the runner cancels them when it closes.
    """

    def register(root: Root) -> Root:
        async def one_after_the_other(batch: int, add: Callable[[Outcome], None], settings: dict[str, object]) -> int:
            start = time.monotonic_ns()
            for _ in range(batch):
                add(await root(**settings))
            return time.monotonic_ns() - start

        @contextmanager
        def open_workload(threads: int, salt: int, **settings: object) -> Iterator[Iteration]:
            season(salt)
            with runner() as steady_runner:
                if background is not None:
                    kept = steady_runner.run(background(**settings))  # asyncio itself refers to a task but weakly
                if in_one:
                    yield Batched(lambda batch, add: steady_runner.run(one_after_the_other(batch, add, settings)))
                else:
                    yield lambda: steady_runner.run(root(**settings))

        WORKLOADS[name] = Workload(parameters, open_workload)
        return root

    return register


Outside = Callable[..., Outcome]


def outside(name: str, background: Background | None = None, **parameters: Parse) -> Callable[[Outside], Outside]:
    """One event loop for all samples in a thread of its own; the main thread is the one outside."""

    def register(work: Outside) -> Outside:
        @contextmanager
        def open_workload(threads: int, salt: int, **settings: object) -> Iterator[Iteration]:
            season(salt)
            with runner() as steady_runner:
                loop = steady_runner.get_loop()
                if background is not None:
                    kept = loop.run_until_complete(background(**settings))
                thread = threading.Thread(target=loop.run_forever, name="event loop")
                thread.start()
                try:
                    yield lambda: work(loop, **settings)
                finally:
                    loop.call_soon_threadsafe(loop.stop)
                    thread.join()

        WORKLOADS[name] = Workload(parameters, open_workload)
        return work

    return register


# Spawning and joining


async def empty() -> None:
    pass


async def spawn_and_join_empty(tasks: int) -> int:
    handles = [asyncio.create_task(empty()) for _ in range(tasks)]
    joined = 0
    for handle in handles:
        await handle
        joined += 1
    return joined


@steady("rt_current_thread/spawn_many_local", tasks=positive)
async def spawn_many_local(tasks: int) -> Outcome:
    joined = await spawn_and_join_empty(tasks)
    return Outcome(joined, joined, joined)


async def respawn() -> None:
    # A task that is ready to run is held by the event loop's queue, so this handle may go.
    asyncio.create_task(respawn())


@steady("rt_current_thread/spawn_many_remote_busy", tasks=positive, background=lambda tasks: respawn())
async def spawn_beside_respawning_task(tasks: int) -> Outcome:
    joined = await spawn_and_join_empty(tasks)
    return Outcome(joined, joined, joined)


def stall_10_us() -> None:
    """Gives the processor to other threads again and again."""
    end = time.monotonic_ns() + 10_000
    while time.monotonic_ns() < end:
        os.sched_yield()


async def yield_and_stall() -> None:
    while True:
        await asyncio.sleep(0)
        stall_10_us()


async def start_yielders(busy: int, tasks: int, root: str) -> list[asyncio.Task[None]]:
    return [asyncio.create_task(yield_and_stall()) for _ in range(busy)]


@steady("rt_multi_threaded/spawn_many_remote_busy1", busy=positive, tasks=positive, root=on_worker, background=start_yielders)
async def spawn_beside_yielders(busy: int, tasks: int, root: str) -> Outcome:
    joined = await spawn_and_join_empty(tasks)
    return Outcome(joined, joined, joined)


@outside("rt_multi_threaded/spawn_many_remote_idle", tasks=positive)
def spawn_from_outside(loop: asyncio.AbstractEventLoop, tasks: int) -> Outcome:
    handles = [asyncio.run_coroutine_threadsafe(empty(), loop) for _ in range(tasks)]
    joined = 0
    for handle in handles:
        handle.result()
        joined += 1
    return Outcome(joined, joined, joined)


@outside("rt_multi_threaded/spawn_many_local", tasks=positive)
def spawn_detached_from_outside(loop: asyncio.AbstractEventLoop, tasks: int) -> Outcome:
    remaining = tasks
    decrements = 0
    bell: queue.SimpleQueue[int] = queue.SimpleQueue()

    async def count_down() -> None:
        nonlocal remaining, decrements
        remaining -= 1
        decrements += 1
        if remaining == 0:
            bell.put(decrements)

    for _ in range(tasks):
        asyncio.run_coroutine_threadsafe(count_down(), loop)
    seen = bell.get()
    return Outcome(seen, seen, seen)


async def one() -> int:
    return 1 + SALT


async def spawn_ones(tasks: int) -> tuple[int, int]:
    """The sum of what they returned, and how many did."""
    handles = [asyncio.create_task(one()) for _ in range(tasks)]
    total = joined = 0
    for handle in handles:
        total += await handle
        joined += 1
    return total, joined


@steady("rt_multi_threaded/spawn_many_remote", spawners=positive, tasks=positive, root=on_worker)
async def spawn_from_inside(spawners: int, tasks: int, root: str) -> Outcome:
    handles = [asyncio.create_task(spawn_ones(tasks // spawners)) for _ in range(spawners)]
    total = joined = 0
    for handle in handles:
        part_total, part_joined = await handle
        total += part_total
        joined += part_joined
    return Outcome(wrapped(total), joined, joined)


async def yield_and_return_2() -> int:
    await asyncio.sleep(0)
    return 2 + SALT


@steady("spawn/basic_scheduler_spawn", tasks=positive)
async def basic_scheduler_spawn(tasks: int) -> Outcome:
    handles = [asyncio.create_task(yield_and_return_2()) for _ in range(tasks)]
    total = joined = 0
    for handle in handles:
        total += await handle
        joined += 1
    return Outcome(wrapped(total), joined, joined)


@cold("spawn_storm_busy", busy=positive, tasks=positive)
async def spawn_storm_busy(busy: int, tasks: int) -> Outcome:
    told_to_stop = asyncio.Event()

    async def yield_until_told() -> None:
        while not told_to_stop.is_set():
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        for _ in range(busy):
            group.create_task(yield_until_told())
        joined = await spawn_and_join_empty(tasks)
        told_to_stop.set()
    return Outcome(joined, joined, joined)


def spawn_chain(depth: int, done: Callable[[int], None]) -> None:
    async def link(before: int) -> None:
        links = before + 1
        if links == last:
            done(links)
        else:
            asyncio.create_task(link(links))

    last = SALT + depth
    asyncio.create_task(link(SALT))


def chain(count: int) -> Outcome:
    links = count - SALT
    return Outcome(wrapped(count), links, links)


@cold("chained_spawn", depth=positive)
async def chained_spawn(depth: int) -> Outcome:
    end: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    spawn_chain(depth, end.set_result)
    return chain(await end)


@outside("rt_multi_threaded/chained_spawn", depth=positive)
def chain_from_outside(loop: asyncio.AbstractEventLoop, depth: int) -> Outcome:
    bell: queue.SimpleQueue[int] = queue.SimpleQueue()

    async def root() -> None:
        spawn_chain(depth, bell.put)

    asyncio.run_coroutine_threadsafe(root(), loop)
    return chain(bell.get())


@cold("catch_unwind_panics", tasks=positive)
async def catch_unwind_panics(tasks: int) -> Outcome:
    async def raise_if_odd(index: int) -> int:
        if index % 2 == 1:
            raise RuntimeError(index)
        return 1_000_000 + SALT

    total = ended = 0
    for result in await asyncio.gather(*(raise_if_odd(index) for index in range(tasks)), return_exceptions=True):
        total += 1 if isinstance(result, RuntimeError) else result
        ended += 1
    return Outcome(wrapped(total), ended, ended)


# Python raises RecursionError beyond 1,000 frames unless told otherwise; the frames that are not
# the workload's need fewer than this.
FRAMES_TO_SPARE = 100


@cold("deep_recursion", depth=positive)
async def deep_recursion(depth: int) -> Outcome:
    sys.setrecursionlimit(max(sys.getrecursionlimit(), depth + FRAMES_TO_SPARE))

    async def descend(level: int) -> int:
        return SALT + level if level == depth else await descend(level + 1)

    reached = await asyncio.create_task(descend(1))
    calls = reached - SALT
    return Outcome(wrapped(reached), calls, calls)


# Yielding


async def yield_often(yields: int) -> int:
    yielded = 0
    for _ in range(yields):
        await asyncio.sleep(0)
        yielded += 1
    return yielded


@outside("rt_multi_threaded/yield_many", tasks=positive, yields=positive)
def yield_many_from_outside(loop: asyncio.AbstractEventLoop, tasks: int, yields: int) -> Outcome:
    bell: queue.SimpleQueue[int] = queue.SimpleQueue()

    async def yield_and_ring() -> None:
        bell.put(await yield_often(yields))

    for _ in range(tasks):
        asyncio.run_coroutine_threadsafe(yield_and_ring(), loop)
    yielded = sum(bell.get() for _ in range(tasks))
    return Outcome(yielded, yielded, yielded)


@cold("yield_many", tasks=positive, yields=positive)
@cold("yield_in_hot_loop", tasks=positive, yields=positive)
async def yield_many(tasks: int, yields: int) -> Outcome:
    async with asyncio.TaskGroup() as group:
        handles = [group.create_task(yield_often(yields)) for _ in range(tasks)]
    yielded = sum(handle.result() for handle in handles)
    return Outcome(yielded, yielded, yielded)


# Oneshot round trips


async def echo(request: asyncio.Future[int], reply: asyncio.Future[int]) -> None:
    reply.set_result(await request)


async def round_trip(number: int) -> tuple[int, int]:
    """The number that came back, and the tasks spawned on the way."""
    loop = asyncio.get_running_loop()
    request: asyncio.Future[int] = loop.create_future()
    reply: asyncio.Future[int] = loop.create_future()
    echo_task = asyncio.create_task(echo(request, reply))
    spawned = 1
    request.set_result(number)
    return await reply, spawned


@outside("rt_multi_threaded/ping_pong", pairs=positive)
def ping_pong(loop: asyncio.AbstractEventLoop, pairs: int) -> Outcome:
    total = returned = spawned = 0
    bell: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
    # asyncio itself refers to a task but weakly.
    tasks: list[asyncio.Task[None]] = []

    async def pair(number: int) -> None:
        nonlocal total, returned, spawned
        back, echoes = await round_trip(number)
        total += back
        returned += 1
        spawned += 1 + echoes
        if returned == pairs:
            bell.put(Outcome(wrapped(total), returned, spawned))

    async def root() -> None:
        tasks.extend(asyncio.create_task(pair(SALT + number)) for number in range(pairs))

    asyncio.run_coroutine_threadsafe(root(), loop)
    return bell.get()


@cold("ping_pong_oneshot", rounds=positive)
async def ping_pong_oneshot(rounds: int) -> Outcome:
    total = returned = spawned = 0
    for round_number in range(rounds):
        number, echoes = await round_trip(SALT + round_number)
        total += number
        returned += 1
        spawned += echoes
    return Outcome(wrapped(total), returned, spawned)


# Queues


@steady("fan_in", in_one=True, senders=positive, buffer=positive, reader=one_of("first", "last"), root=on_worker)
async def fan_in(senders: int, buffer: int, reader: str, root: str) -> Outcome:
    channel: asyncio.Queue[int] = asyncio.Queue(maxsize=buffer)

    async def receive() -> tuple[int, int]:
        total = received = 0
        while received < senders:
            total += await channel.get()
            received += 1
        return total, received

    if reader == "first":
        receiver = asyncio.create_task(receive())
    # The handles are kept for as long as the tasks run, which is what asyncio asks for; nothing
    # awaits them.
    handles = [asyncio.create_task(channel.put(SALT + index)) for index in range(senders)]
    total, received = await (receiver if reader == "first" else receive())
    return Outcome(wrapped(total), received, received)


async def produce(channel: asyncio.Queue[int | None], first: int, messages: int) -> None:
    for number in range(first, first + messages):
        channel.put_nowait(number)
    channel.put_nowait(HUNG_UP)


async def consume(channel: asyncio.Queue[int | None], producers: int) -> tuple[int, int]:
    """The sum and the number of the messages received until all producers have hung up."""
    total = received = hung_up = 0
    while hung_up < producers:
        number = await channel.get()
        if number is HUNG_UP:
            hung_up += 1
        else:
            total += number
            received += 1
    return total, received


@steady("sync_mpsc/contention", producers=positive, messages=positive, root=on_worker)
@steady("native_sync/mpsc_contention", in_one=True, producers=positive, messages=positive, root=on_worker)
async def mpsc_counted(producers: int, messages: int, root: str) -> Outcome:
    channel: asyncio.Queue[int] = asyncio.Queue()

    async def send(first: int) -> None:
        for number in range(first, first + messages):
            channel.put_nowait(number)

    # Kept: asyncio itself refers to a task but weakly.
    handles = [asyncio.create_task(send(SALT + producer * messages)) for producer in range(producers)]
    total = received = 0
    while received < producers * messages:
        total += await channel.get()
        received += 1
    return Outcome(wrapped(total), received, received)


@cold("mpsc_contention", producers=positive, messages=positive)
async def mpsc_contention(producers: int, messages: int) -> Outcome:
    channel: asyncio.Queue[int | None] = asyncio.Queue()
    async with asyncio.TaskGroup() as group:
        for producer in range(producers):
            group.create_task(produce(channel, SALT + producer * messages, messages))
        total, received = await consume(channel, producers)
    return Outcome(wrapped(total), received, received)


@steady("sync_mpsc/uncontended", messages=positive, root=on_worker)
@steady("native_sync/mpsc_uncontended", in_one=True, messages=positive, root=on_worker)
async def mpsc_uncontended(messages: int, root: str) -> Outcome:
    channel: asyncio.Queue[int] = asyncio.Queue()
    for number in range(messages):
        channel.put_nowait(SALT + number)
    total = received = 0
    while received < messages:
        total += await channel.get()
        received += 1
    return Outcome(wrapped(total), received, received)


@cold("uncontended_channel", messages=positive)
async def uncontended_channel(messages: int) -> Outcome:
    channel: asyncio.Queue[int | None] = asyncio.Queue()
    async with asyncio.TaskGroup() as group:
        group.create_task(produce(channel, SALT, messages))
        receiver = group.create_task(consume(channel, 1))
    total, received = receiver.result()
    return Outcome(wrapped(total), received, received)


# From the client of each iteration to the server, which lives through all of them.
REQUESTS: asyncio.Queue[tuple[int, asyncio.Future[int]]]
SEMAPHORE: asyncio.Semaphore  # All iterations share it.


async def start_server(requests: int, root: str) -> asyncio.Task[None]:
    global REQUESTS
    REQUESTS = asyncio.Queue(maxsize=10)

    async def serve() -> None:
        while True:
            number, reply = await REQUESTS.get()
            reply.set_result(number + 1)

    return asyncio.create_task(serve())


@steady("sync_mpsc_oneshot/request_reply", requests=positive, root=on_worker, background=start_server)
@steady("native_sync/request_reply", in_one=True, requests=positive, root=on_worker, background=start_server)
async def request_reply(requests: int, root: str) -> Outcome:
    loop = asyncio.get_running_loop()
    total = answers = 0
    for number in range(requests):
        reply: asyncio.Future[int] = loop.create_future()
        await REQUESTS.put((SALT + number, reply))
        total += await reply
        answers += 1
    return Outcome(wrapped(total), answers, answers)


# Semaphores


async def make_semaphore(permits: int, **_: object) -> None:
    global SEMAPHORE
    SEMAPHORE = asyncio.Semaphore(permits)


@steady("sync_semaphore/uncontended", make_semaphore, tasks=positive, permits=positive, root=on_worker)
@steady("sync_semaphore/contention", make_semaphore, tasks=positive, permits=positive, root=on_worker)
@steady("native_sync/semaphore_uncontended", make_semaphore, in_one=True, tasks=positive, permits=positive, root=on_worker)
@steady("native_sync/semaphore_contention", make_semaphore, in_one=True, tasks=positive, permits=positive, root=on_worker)
async def semaphore(tasks: int, permits: int, root: str) -> Outcome:
    async def acquire() -> int:
        async with SEMAPHORE:
            return 1

    async with asyncio.TaskGroup() as group:
        handles = [group.create_task(acquire()) for _ in range(tasks)]
    acquired = sum(handle.result() for handle in handles)
    return Outcome(acquired, acquired, acquired)


# Timers


@cold("many_timers", sleepers=positive)
async def many_timers(sleepers: int) -> Outcome:
    async def sleep(index: int) -> int:
        milliseconds = 1 + mix(SALT, index) % 10
        await asyncio.sleep(milliseconds / 1000)
        return milliseconds

    async with asyncio.TaskGroup() as group:
        handles = [group.create_task(sleep(index)) for index in range(sleepers)]
    total = woken = 0
    for handle in handles:
        total += handle.result()
        woken += 1
    return Outcome(total, woken, woken)


@steady("timer/timeout", tasks=positive, timers=positive)
async def timer_timeout(tasks: int, timers: int) -> Outcome:
    async def time_out_never() -> int:
        completed = 0
        for _ in range(timers):
            async with asyncio.timeout(1):
                await empty()
            completed += 1
        return completed

    async with asyncio.TaskGroup() as group:
        handles = [group.create_task(time_out_never()) for _ in range(tasks)]
    completed = sum(handle.result() for handle in handles)
    return Outcome(completed, completed, completed)


# Blocking work


def block() -> int:
    return SALT


async def hand_over_batches(batches: int, closures: int) -> tuple[int, int]:
    """The sum of what the closures returned, and how many were awaited."""
    loop = asyncio.get_running_loop()
    total = awaited = 0
    for _ in range(batches):
        handles = [loop.run_in_executor(None, block) for _ in range(closures)]
        for handle in handles:
            total += await handle
            awaited += 1
    return total, awaited


@steady("spawn_blocking/concurrency", tasks=positive, batches=positive, closures=positive, root=on_worker)
async def blocking_concurrency(tasks: int, batches: int, closures: int, root: str) -> Outcome:
    handles = [asyncio.create_task(hand_over_batches(batches, closures)) for _ in range(tasks)]
    total = awaited = 0
    for handle in handles:
        task_total, task_awaited = await handle
        total += task_total
        awaited += task_awaited
    return Outcome(wrapped(total + awaited), awaited, awaited)
