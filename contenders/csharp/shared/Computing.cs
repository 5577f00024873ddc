using System;
using System.Threading.Tasks;
using Palio;

/// <summary>The rows of tasks that compute, fail or sleep.</summary>
static class Computing
{
    internal static Work PreparePrimes(Request request)
    {
        // Beyond 2^32 a number would not fit what IsPrime takes.
        ulong limit = request.Between("limit", 0, 1UL << 32);
        int tasks = request.Count("tasks");
        return Pool.Rooted(() => Pool.SpawnAndJoin(
            tasks, i => Task.Run(() => WeighPrimes((ulong)i, limit, (ulong)tasks))));
    }

    static ulong WeighPrimes(ulong first, ulong limit, ulong step)
    {
        ulong sum = 0;
        for (ulong n = first; n < limit; n += step)
        {
            if (IsPrime((uint)n))
            {
                sum = unchecked(sum + Salt.Mixed(n));
            }
        }
        return sum;
    }

    /// <summary>
    /// In 32 bits, which hold every number here. LLVM sees that in Rust's contenders as it
    /// divides, and takes the shorter instruction, which is the faster one; C# takes what the type
    /// says.
    /// </summary>
    static bool IsPrime(uint n)
    {
        if (n % 2 == 0 || n < 2)
        {
            return n == 2;
        }
        for (uint divisor = 3; (ulong)divisor * divisor <= n; divisor += 2)
        {
            if (n % divisor == 0)
            {
                return false;
            }
        }
        return true;
    }

    internal static Work PrepareRecursion(Request request)
    {
        int depth = request.Count("depth");
        return Pool.Rooted(async () =>
        {
            ulong reached = await Task.Run(() => Descend(1, depth)).ConfigureAwait(false);
            ulong calls = unchecked(reached - Salt.Value);
            return new Iteration(reached, calls, calls);
        });
    }

    /// <summary>
    /// An async function that is awaited at each level, and adds one to what it gets.
    /// </summary>
    static async Task<ulong> Descend(int level, int depth)
    {
        return unchecked(1 + (level == depth ? Salt.Value : await Descend(level + 1, depth).ConfigureAwait(false)));
    }

    internal static Work PrepareExceptions(Request request)
    {
        int tasks = request.Count("tasks");
        return Pool.Rooted(() => Exceptions(tasks));
    }

    static async Task<Iteration> Exceptions(int tasks)
    {
        var handles = new Task<ulong>[tasks];
        for (int i = 0; i < tasks; i++)
        {
            int task = i;
            handles[i] = Task.Run(() => ThrowIfOdd(task));
        }
        ulong sum = 0;
        ulong joined = 0;
        foreach (Task<ulong> handle in handles)
        {
            try
            {
                sum += await handle.ConfigureAwait(false);
            }
            catch (InvalidOperationException)
            {
                sum++;
            }
            joined++;
        }
        return new Iteration(sum, joined, joined);
    }

    static ulong ThrowIfOdd(int task)
    {
        if (task % 2 == 1)
        {
            throw new InvalidOperationException("odd");
        }
        return unchecked(1000000 + Salt.Value);
    }

    internal static Work PrepareSleepers(Request request)
    {
        int sleepers = request.Count("sleepers");
        return Pool.Rooted(() => Pool.SpawnAndJoin(sleepers, i => Task.Run(async () =>
        {
            ulong milliseconds = 1 + Salt.Mixed((ulong)i) % 10;
            await Task.Delay((int)milliseconds).ConfigureAwait(false);
            return milliseconds;
        })));
    }
}
