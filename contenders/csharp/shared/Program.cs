using System;
using System.Collections.Generic;
using Palio;

/// <summary>Tasks on the thread pool, whichever of the two runtimes compiled this.</summary>
static class Program
{
    internal static Dictionary<string, Func<Request, Work>> Workloads()
    {
        var rows = new Dictionary<string, Func<Request, Work>>
        {
            { "fib", Forking.PrepareFib },
            { "skynet", Forking.PrepareSkynet },
            { "nqueens", Nqueens.Prepare },
            { "matmul", Matmul.Prepare },
            { "rt_multi_threaded/spawn_many_local", Spawning.PrepareDetached },
            { "rt_multi_threaded/spawn_many_remote", Spawning.PrepareRemote },
            { "rt_multi_threaded/spawn_many_remote_idle", Spawning.PrepareFromOutside },
            { "rt_multi_threaded/ping_pong", Yielding.PreparePairs },
            { "rt_multi_threaded/yield_many", Yielding.PrepareFromOutside },
            { "rt_multi_threaded/chained_spawn", Spawning.PrepareChainFromOutside },
            { "spawn/threaded_scheduler_spawn", Yielding.PrepareOnce },
            { "sync_semaphore/contention", Yielding.PreparePermits },
            { "sync_semaphore/uncontended", Yielding.PreparePermits },
            { "native_sync/semaphore_contention", Yielding.PreparePermitsInOne },
            { "native_sync/semaphore_uncontended", Yielding.PreparePermitsInOne },
            { "chained_spawn", Spawning.PrepareChain },
            { "catch_unwind_panics", Computing.PrepareExceptions },
            { "deep_recursion", Computing.PrepareRecursion },
            { "fan_out_compute", Computing.PreparePrimes },
            { "multi_thread_scaling", Computing.PreparePrimes },
            { "many_timers", Computing.PrepareSleepers },
            { "ping_pong_oneshot", Yielding.PrepareRounds },
            { "spawn_storm_busy", Spawning.PrepareStorm },
            { "yield_many", Yielding.Prepare },
            { "held_out/unbalanced_tree", UnbalancedTree.Prepare },
            { "held_out/quicksort", Quicksort.Prepare },
            { "held_out/phases", Phases.Prepare },
            { "held_out/deadlines", Deadlines.Prepare },
            { "spawn_one", SpawnOne.Prepare },
            { "tcp_ping_pong", TcpPingPong.Prepare },
        };
        var workloads = new Dictionary<string, Func<Request, Work>>();
        foreach (KeyValuePair<string, Func<Request, Work>> row in rows)
        {
            workloads.Add(row.Key, Pool.Started(row.Value));
        }
        return workloads;
    }

    static void Main(string[] args)
    {
        Harness.Run(
            new Contender
            {
                Id = Platform.Id,
                Runtime = Platform.Runtime,
                Toolchain = Platform.Toolchain,
                Flags = Platform.Flags,
                Workloads = Workloads(),
            },
            args);
    }
}
