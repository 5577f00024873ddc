using System;
using System.Collections.Concurrent;
using System.Threading;
using System.Threading.Tasks;
using Palio;

/// <summary>The rows of yields, round trips and permits.</summary>
static class Yielding
{
    static async Task<ulong> YieldOften(int yields)
    {
        ulong yielded = 0;
        for (int i = 0; i < yields; i++)
        {
            await Task.Yield();
            yielded++;
        }
        return yielded;
    }

    internal static Work Prepare(Request request)
    {
        int tasks = request.Count("tasks");
        int yields = request.Count("yields");
        return Pool.Rooted(async () =>
        {
            Iteration joined = await Pool.SpawnAndJoin(tasks, i => Task.Run(() => YieldOften(yields))).ConfigureAwait(false);
            return Iteration.Of(joined.Answer);
        });
    }

    internal static Work PrepareFromOutside(Request request)
    {
        int tasks = request.Count("tasks");
        int yields = request.Count("yields");
        var yielded = new BlockingCollection<ulong>();
        return Work.Plain(() =>
        {
            for (int i = 0; i < tasks; i++)
            {
                Task.Run(async () => yielded.Add(await YieldOften(yields).ConfigureAwait(false)));
            }
            ulong sum = 0;
            for (int i = 0; i < tasks; i++)
            {
                sum += yielded.Take();
            }
            return Iteration.Of(sum);
        });
    }

    internal static Work PrepareOnce(Request request)
    {
        int tasks = request.Count("tasks");
        return Pool.Rooted(request, () => Pool.SpawnAndJoin(tasks, i => Task.Run(async () =>
        {
            await Task.Yield();
            return unchecked(2 + Salt.Value);
        })));
    }

    /// <summary>The continuation of who waits is queued, and not run by who sends.</summary>
    static TaskCompletionSource<ulong> Oneshot()
    {
        return new TaskCompletionSource<ulong>(TaskCreationOptions.RunContinuationsAsynchronously);
    }

    /// <summary>Sends a value to a new task, and returns what comes back.</summary>
    static async Task<ulong> RoundTrip(ulong value)
    {
        TaskCompletionSource<ulong> there = Oneshot();
        TaskCompletionSource<ulong> home = Oneshot();
        _ = Task.Run(async () => home.SetResult(await there.Task.ConfigureAwait(false)));
        there.SetResult(value);
        return await home.Task.ConfigureAwait(false);
    }

    internal static Work PrepareRounds(Request request)
    {
        int rounds = request.Count("rounds");
        return Pool.Rooted(async () =>
        {
            ulong sum = 0;
            ulong made = 0;
            for (int round = 0; round < rounds; round++)
            {
                sum += await RoundTrip(unchecked(Salt.Value + (ulong)round)).ConfigureAwait(false);
                made++;
            }
            return new Iteration(sum, made, made);
        });
    }

    internal static Work PreparePairs(Request request)
    {
        int pairs = request.Count("pairs");
        var last = new BlockingCollection<Iteration>();
        return Work.Plain(() =>
        {
            int running = pairs;
            long sum = 0;
            long spawned = 0;
            Task.Run(() =>
            {
                for (int i = 0; i < pairs; i++)
                {
                    ulong value = unchecked(Salt.Value + (ulong)i);
                    Task.Run(async () =>
                    {
                        ulong back = await RoundTrip(value).ConfigureAwait(false);
                        Interlocked.Add(ref sum, unchecked((long)back));
                        // This task, and the one that sent the value back: nobody else could have.
                        Interlocked.Add(ref spawned, 2);
                        int others = Interlocked.Decrement(ref running);
                        if (others == 0)
                        {
                            last.Add(new Iteration(
                                unchecked((ulong)sum), (ulong)(pairs - others), (ulong)spawned));
                        }
                    });
                }
            });
            return last.Take();
        });
    }

    internal static Work PreparePermits(Request request)
    {
        return Pool.Rooted(request, Permits(request));
    }

    internal static Work PreparePermitsInOne(Request request)
    {
        return Pool.RootedInOne(request, Permits(request));
    }

    /// <summary>The semaphore lives through all iterations.</summary>
    static Func<Task<Iteration>> Permits(Request request)
    {
        int tasks = request.Count("tasks");
        var semaphore = new SemaphoreSlim(request.Count("permits"));
        return async () =>
        {
            Iteration joined = await Pool.SpawnAndJoin(tasks, i => Task.Run(async () =>
            {
                await semaphore.WaitAsync().ConfigureAwait(false);
                semaphore.Release();
                return 1UL;
            })).ConfigureAwait(false);
            return Iteration.Of(joined.Answer);
        };
    }
}
