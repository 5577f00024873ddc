using System.Collections.Concurrent;
using System.Threading;
using System.Threading.Tasks;
using Palio;

/// <summary>The rows that spawn many small tasks, and chains of them.</summary>
static class Spawning
{
    static Task<ulong> One(int index)
    {
        return Task.Run(() => 1UL);
    }

    static async Task<Iteration> SpawnMany(int tasks)
    {
        Iteration joined = await Pool.SpawnAndJoin(tasks, One).ConfigureAwait(false);
        return Iteration.Of(joined.Answer);
    }

    /// <summary>Spawns from outside, and waits there for one task after the other.</summary>
    internal static Work PrepareFromOutside(Request request)
    {
        int tasks = request.Count("tasks");
        return Work.Plain(() =>
        {
            var handles = new Task<ulong>[tasks];
            for (int i = 0; i < tasks; i++)
            {
                handles[i] = One(i);
            }
            ulong joined = 0;
            foreach (Task<ulong> handle in handles)
            {
                joined += handle.GetAwaiter().GetResult();
            }
            return Iteration.Of(joined);
        });
    }

    internal static Work PrepareDetached(Request request)
    {
        int tasks = request.Count("tasks");
        var last = new BlockingCollection<ulong>();
        return Work.Plain(() =>
        {
            int running = tasks;
            for (int i = 0; i < tasks; i++)
            {
                Task.Run(() =>
                {
                    int others = Interlocked.Decrement(ref running);
                    if (others == 0)
                    {
                        last.Add((ulong)(tasks - others));
                    }
                });
            }
            return Iteration.Of(last.Take());
        });
    }

    internal static Work PrepareRemote(Request request)
    {
        int spawners = request.Count("spawners");
        int tasks = (int)request.Between("tasks", 0, int.MaxValue);
        if (tasks % spawners != 0)
        {
            throw Refusal.Misuse("--set tasks=" + tasks + " is no multiple of spawners=" + spawners);
        }
        return Pool.Rooted(request, () => Remote(spawners, tasks / spawners));
    }

    /// <summary>Only the tasks that return something count, and not their spawners.</summary>
    static async Task<Iteration> Remote(int spawners, int each)
    {
        var handles = new Task<Iteration>[spawners];
        for (int i = 0; i < spawners; i++)
        {
            handles[i] = Task.Run(() => Pool.SpawnAndJoin(each, index => Task.Run(() => unchecked(1 + Salt.Value))));
        }
        ulong sum = 0;
        ulong tasks = 0;
        foreach (Task<Iteration> handle in handles)
        {
            Iteration part = await handle.ConfigureAwait(false);
            sum += part.Answer;
            tasks += part.Work;
        }
        return new Iteration(sum, tasks, tasks);
    }

    internal static Work PrepareStorm(Request request)
    {
        int busy = request.Count("busy");
        int tasks = request.Count("tasks");
        return Pool.Rooted(() => Storm(busy, tasks));
    }

    static async Task<Iteration> Storm(int busy, int tasks)
    {
        using (var stopped = new CancellationTokenSource())
        {
            var company = new Task[busy];
            for (int i = 0; i < busy; i++)
            {
                company[i] = Task.Run(() => YieldUntil(stopped.Token));
            }
            Iteration joined = await SpawnMany(tasks).ConfigureAwait(false);
            stopped.Cancel();
            await Task.WhenAll(company).ConfigureAwait(false);
            return joined;
        }
    }

    static async Task YieldUntil(CancellationToken stopped)
    {
        while (!stopped.IsCancellationRequested)
        {
            await Task.Yield();
        }
    }

    internal static Work PrepareChain(Request request)
    {
        int depth = request.Count("depth");
        return Pool.Rooted(async () =>
        {
            var end = new TaskCompletionSource<ulong>(TaskCreationOptions.RunContinuationsAsynchronously);
            StartChain(depth, end.SetResult);
            return Chained(await end.Task.ConfigureAwait(false));
        });
    }

    internal static Work PrepareChainFromOutside(Request request)
    {
        int depth = request.Count("depth");
        var end = new BlockingCollection<ulong>();
        return Work.Plain(() =>
        {
            Task.Run(() => StartChain(depth, end.Add));
            return Chained(end.Take());
        });
    }

    static void StartChain(int depth, System.Action<ulong> end)
    {
        ulong last = unchecked(Salt.Value + (ulong)depth);
        Task.Run(() => Link(Salt.Value, last, end));
    }

    /// <summary>Passes the count on to the next link, and ends at once.</summary>
    static void Link(ulong before, ulong last, System.Action<ulong> end)
    {
        ulong count = unchecked(before + 1);
        if (count == last)
        {
            end(count);
        }
        else
        {
            Task.Run(() => Link(count, last, end));
        }
    }

    static Iteration Chained(ulong count)
    {
        ulong links = unchecked(count - Salt.Value);
        return new Iteration(count, links, links);
    }
}
