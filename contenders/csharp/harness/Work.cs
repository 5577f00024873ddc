using System;
using System.Diagnostics;

namespace Palio
{
    /// <summary>What one iteration computed and did.</summary>
    public struct Iteration
    {
        public readonly ulong Answer;
        public readonly ulong Ops;
        public readonly ulong Work;

        public Iteration(ulong answer, ulong ops, ulong work)
        {
            Answer = answer;
            Ops = ops;
            Work = work;
        }

        /// <summary>An iteration in which all three are the same number.</summary>
        public static Iteration Of(ulong number)
        {
            return new Iteration(number, number, number);
        }

        internal bool Is(Iteration other)
        {
            return Answer == other.Answer && Ops == other.Ops && Work == other.Work;
        }
    }

    /// <summary>
    /// What the iterations of a batch did, and how long they took: the first of them stands for
    /// all, and one that differs from it, if any does. Comparing is all that happens between two
    /// iterations; the sums are made when the clock has stopped.
    /// </summary>
    public sealed class Iterations
    {
        readonly Stopwatch clock = Stopwatch.StartNew();
        Iteration first;
        Iteration odd;
        int count;

        Iterations()
        {
        }

        /// <summary>Starts the clock: the first iteration is about to begin.</summary>
        public static Iterations Start()
        {
            return new Iterations();
        }

        /// <summary>Stops the clock: the last iteration has just ended.</summary>
        public Iterations Stop()
        {
            clock.Stop();
            return this;
        }

        /// <summary>Counts one more.</summary>
        public void Add(Iteration next)
        {
            if (count == 0)
            {
                first = next;
                odd = next;
            }
            else if (!next.Is(first) && odd.Is(first))
            {
                odd = next;
            }
            count++;
        }

        internal void AddTo(Sums sums)
        {
            if (clock.IsRunning)
            {
                throw new InvalidOperationException("the clock of a batch was not stopped");
            }
            sums.Ticks = clock.ElapsedTicks;
            if (count == 0)
            {
                return;
            }
            sums.Add(Done.Of(first), count - 1);
            sums.Add(Done.Of(odd), 1);
        }
    }

    /// <summary>The work of one workload, ready to be iterated.</summary>
    public abstract class Work
    {
        internal bool ForksCounted { get; private set; }

        /// <summary>Takes one sample, without its CPU time.</summary>
        internal abstract void Sample(int batch, Sums sums);

        /// <summary>Work that is timed as a whole.</summary>
        public static Work Plain(Func<Iteration> iterate)
        {
            return new PlainWork(iterate);
        }

        /// <summary>
        /// Work whose iterations of one sample belong together, such as in one entry into a
        /// runtime: the function does as many as it is told, has the clock run from before the
        /// first until after the last of them, where they are done, and reports them. The way
        /// there and back is not timed.
        /// </summary>
        public static Work Batched(Func<int, Iterations> batch)
        {
            return new BatchedWork(batch);
        }

        /// <summary>Work of which what is before and after an iteration is not timed.</summary>
        public static Work Staged(Action prepare, Action run, Func<Iteration> finish)
        {
            return new StagedWork(prepare, run, finish);
        }

        /// <summary>For work that says Forks.Handed wherever it hands something over.</summary>
        public Work CountingForks()
        {
            ForksCounted = true;
            return this;
        }

        sealed class PlainWork : Work
        {
            readonly Func<Iteration> iterate;

            internal PlainWork(Func<Iteration> iterate)
            {
                this.iterate = iterate;
            }

            internal override void Sample(int batch, Sums sums)
            {
                var done = Iterations.Start();
                for (int i = 0; i < batch; i++)
                {
                    done.Add(iterate());
                }
                done.Stop().AddTo(sums);
            }
        }

        sealed class BatchedWork : Work
        {
            readonly Func<int, Iterations> iterate;

            internal BatchedWork(Func<int, Iterations> iterate)
            {
                this.iterate = iterate;
            }

            internal override void Sample(int batch, Sums sums)
            {
                iterate(batch).AddTo(sums);
            }
        }

        sealed class StagedWork : Work
        {
            readonly Action prepare;
            readonly Action run;
            readonly Func<Iteration> finish;

            internal StagedWork(Action prepare, Action run, Func<Iteration> finish)
            {
                this.prepare = prepare;
                this.run = run;
                this.finish = finish;
            }

            internal override void Sample(int batch, Sums sums)
            {
                var clock = new Stopwatch();
                for (int i = 0; i < batch; i++)
                {
                    prepare();
                    clock.Start();
                    run();
                    clock.Stop();
                    sums.Add(Done.Of(finish()), 1);
                }
                sums.Ticks = clock.ElapsedTicks;
            }
        }
    }
}
