using System;
using System.Diagnostics;
using System.Threading;
using Palio;

/// <summary>
/// Tests of batches, and of how many roots and forks rows have: they sum themselves up.
/// </summary>
static class Tests
{
    const int Batch = 3;

    /// <summary>The way to a batch, and that back, in ms.</summary>
    const int Way = 20;

    static int passed;
    static int failed;

    static void Main()
    {
        // First, since whether forks are counted is settled with the first of them.
        RootAndForks("skynet", "leaves=1000", 1 + 999);
        RootAndForks("nqueens", "n=9", 1 + 2935);
        Check("a batch that is done as a whole", Sampled(Together(5, 5, 5)), " ops=6 answer=5 work=9");
        Check("one that differs", Sampled(Together(5, 6, 7)), " ops=6 answer=differs:5:6 work=9");
        Check("a batch of iterations that are alike", Sampled(Apart(5, 5, 5)), " ops=6 answer=5 work=9");
        Check("the last one differs", Sampled(Apart(5, 5, 6)), " ops=6 answer=differs:5:6 work=9");
        var clock = Stopwatch.StartNew();
        var timed = new Sums();
        Together(5, 5, 5).Sample(Batch, timed);
        long ways = 2 * Way * Stopwatch.Frequency / 1000;
        Check("the way is not timed", (timed.Ticks + ways <= clock.ElapsedTicks).ToString(), "True");
        Roots("native_sync/semaphore_contention", 1);
        Roots("native_sync/semaphore_uncontended", 1);
        Roots("sync_semaphore/contention", Batch);
        Roots("sync_semaphore/uncontended", Batch);
        Console.WriteLine(passed + " passed, " + failed + " failed");
        Harness.Exit(failed == 0 ? 0 : 1);
    }

    static Work Together(params ulong[] answers)
    {
        return Work.Batched(batch =>
        {
            Thread.Sleep(Way);
            var done = Iterations.Start();
            for (int i = 0; i < batch; i++)
            {
                done.Add(new Iteration(answers[i], 2, 3));
            }
            done.Stop();
            Thread.Sleep(Way);
            return done;
        });
    }

    static Work Apart(params ulong[] answers)
    {
        int next = 0;
        return Work.Plain(() => new Iteration(answers[next++], 2, 3));
    }

    static string Sampled(Work work)
    {
        var sums = new Sums();
        work.Sample(Batch, sums);
        return sums.ToString();
    }

    /// <summary>A sample of six tasks an iteration, and how often it was waited for.</summary>
    static void Roots(string row, int roots)
    {
        // The pool wants as many threads as there are processors.
        string args = "--workload " + row + " --threads " + Environment.ProcessorCount
            + " --salt 0 --set root=worker --set tasks=6 --set permits=5";
        Work work = Program.Workloads()[row](Request.Parse(args.Split(' ')));
        int before = Pool.Entries;
        string said = Sampled(work) + " roots=" + (Pool.Entries - before);
        Check(row, said, " ops=18 answer=6 work=18 roots=" + roots);
    }

    /// <summary>What an iteration hands to the pool: all children of a task but the last.</summary>
    static void RootAndForks(string row, string setting, ulong forks)
    {
        string args = "--workload " + row + " --threads " + Environment.ProcessorCount
            + " --salt 0 --count-forks --set " + setting;
        Work work = Program.Workloads()[row](Request.Parse(args.Split(' ')));
        ulong before = Forks.SoFar;
        work.Sample(1, new Sums());
        Check(row, " forks=" + (Forks.SoFar - before), " forks=" + forks);
    }

    static void Check(string name, string said, string end)
    {
        if (said.EndsWith(end, StringComparison.Ordinal))
        {
            passed++;
            return;
        }
        failed++;
        Console.WriteLine("failed: " + name + ": " + said + ", without" + end);
    }
}
