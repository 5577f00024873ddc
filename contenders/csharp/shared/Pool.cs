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
        if (request.OneOf("root", "worker", "outside") == "outside")
        {
            throw Refusal.Unsupported("what follows an await runs on the pool, wherever it began");
        }
        return Rooted(root);
    }

    internal static Iteration OnPool(Func<Task<Iteration>> root)
    {
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
