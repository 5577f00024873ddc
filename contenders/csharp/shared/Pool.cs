using System;
using System.Threading;
using System.Threading.Tasks;
using Palio;

/// <summary>The pool that runs tasks, which starts once in a process.</summary>
static class Pool
{
    /// <summary>A workload whose pool is told first how many threads it has.</summary>
    internal static Func<Request, Work> Started(Func<Request, Work> prepare)
    {
        return request =>
        {
            Start(request.Threads);
            return prepare(request);
        };
    }

    static void Start(int threads)
    {
        int workers;
        int pollers;
        ThreadPool.GetMinThreads(out workers, out pollers);
        // The least first: it must not be above the most at any time.
        ThreadPool.SetMinThreads(1, pollers);
        if (!ThreadPool.SetMaxThreads(threads, Math.Max(pollers, Environment.ProcessorCount)))
        {
            throw Refusal.Unsupported(
                "the pool refuses to have " + threads + " threads: it wants as many as there are processors, "
                + Environment.ProcessorCount);
        }
        ThreadPool.SetMinThreads(threads, pollers);
    }

    /// <summary>Work whose root is a task of the pool; the thread outside waits for it.</summary>
    internal static Work Rooted(Func<Task<Iteration>> root)
    {
        return Work.Plain(() => OnPool(root));
    }

    /// <summary>The same with a root that the request puts on a worker or outside.</summary>
    internal static Work Rooted(Request request, Func<Task<Iteration>> root)
    {
        RefuseOutside(request);
        return Rooted(root);
    }

    /// <summary>
    /// The same with one root for all iterations of a sample, one after the other, so that none of
    /// them pays for the way to the pool and back.
    /// </summary>
    internal static Work RootedInOne(Request request, Func<Task<Iteration>> root)
    {
        RefuseOutside(request);
        return Work.Batched(batch => OnPool(async () =>
        {
            var done = Iterations.Start();
            for (int i = 0; i < batch; i++)
            {
                done.Add(await root().ConfigureAwait(false));
            }
            return done.Stop();
        }));
    }

    static void RefuseOutside(Request request)
    {
        if (request.OneOf("root", "worker", "outside") == "outside")
        {
            throw Refusal.Unsupported("what follows an await runs on the pool, wherever it began");
        }
    }

#if TEST
    /// <summary>How often a thread outside has waited for a root so far.</summary>
    internal static int Entries;
#endif

    static T OnPool<T>(Func<Task<T>> root)
    {
#if TEST
        Entries++;
#endif
        return Task.Run(root).GetAwaiter().GetResult();
    }

    /// <summary>Spawns tasks that say what they did, and joins them one after the other.</summary>
    internal static async Task<Iteration> SpawnAndJoin(int tasks, Func<int, Task<ulong>> spawn)
    {
        var handles = new Task<ulong>[tasks];
        for (int i = 0; i < tasks; i++)
        {
            handles[i] = spawn(i);
        }
        ulong sum = 0;
        ulong joined = 0;
        foreach (Task<ulong> handle in handles)
        {
            sum += await handle.ConfigureAwait(false);
            joined++;
        }
        return new Iteration(sum, joined, joined);
    }
}
