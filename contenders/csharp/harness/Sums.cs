using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;

namespace Palio
{
    /// <summary>An iteration as it is printed; without Counted, its work means nothing.</summary>
    struct Done
    {
        internal string Answer;
        internal ulong Ops;
        internal ulong Work;
        internal bool Counted;

        internal static Done Of(Iteration iteration)
        {
            return new Done
            {
                Answer = iteration.Answer.ToString(CultureInfo.InvariantCulture),
                Ops = iteration.Ops,
                Work = iteration.Work,
                Counted = true,
            };
        }
    }

    /// <summary>What the iterations of one batch did together, all with the same answer.</summary>
    sealed class Sums
    {
        const double NsPerSecond = 1e9;

        internal long Ticks;
        internal readonly List<ulong> Events = new List<ulong>();
        string answer;
        string other;
        ulong ops;
        ulong work;
        bool counted = true;

        /// <summary>Counts the same iteration so many times.</summary>
        internal void Add(Done more, int times)
        {
            if (times == 0)
            {
                return;
            }
            if (answer == null)
            {
                answer = more.Answer;
            }
            else if (other == null && answer != more.Answer)
            {
                other = more.Answer;
            }
            ops += more.Ops * (ulong)times;
            work += more.Work * (ulong)times;
            counted &= more.Counted;
        }

        /// <summary>The part of a sample's line before the CPU time.</summary>
        public override string ToString()
        {
            var elapsedNs = (ulong)(Ticks * (NsPerSecond / Stopwatch.Frequency));
            // At least 1, as the contract says: a clock that did not advance has measured no 0.
            return "elapsed_ns=" + Math.Max(elapsedNs, 1)
                + " ops=" + ops
                + " answer=" + (other == null ? answer : "differs:" + answer + ":" + other)
                + " work=" + (counted ? work.ToString(CultureInfo.InvariantCulture) : "-");
        }

        /// <summary>
        /// The end of a sample's line: the distribution, by nearest rank, or nothing without
        /// events. An event of 0 ns counts as 1 ns: it was shorter than the clock can tell.
        /// </summary>
        internal string Distribution()
        {
            if (Events.Count == 0)
            {
                return "";
            }
            Events.Sort();
            return " events=" + Events.Count + " p50_ns=" + Ranked(500) + " p99_ns=" + Ranked(990)
                + " p999_ns=" + Ranked(999) + " max_ns=" + Ranked(1000);
        }

        ulong Ranked(long perMille)
        {
            long rank = (Events.Count * perMille + 999) / 1000;
            return Math.Max(Events[(int)Math.Max(rank, 1) - 1], 1);
        }
    }
}
