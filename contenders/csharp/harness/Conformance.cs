using System.Diagnostics;
using System.Linq;

namespace Palio
{
    /// <summary>
    /// The workloads that check a harness: no runtime, and any number of threads.
    /// </summary>
    sealed class Conformance : Work
    {
        readonly Done given;
        readonly ulong[] events;
        readonly ulong forks;

        Conformance(Done given, ulong[] events, ulong forks)
        {
            this.given = given;
            this.events = events;
            this.forks = forks;
        }

        /// <summary>The workload of this kind that is asked for, or null.</summary>
        internal static Work Find(Request request)
        {
            switch (request.Workload)
            {
                case "conformance":
                    return new Conformance(Given(request), new ulong[0], 0);
                case "conformance/events":
                    return new Conformance(Given(request), GivenEvents(request), 0);
                case "conformance/forks":
                    Done given = Given(request);
                    return new Conformance(given, new ulong[0], request.Between("forks", 0, ulong.MaxValue)).CountingForks();
                case "conformance/salt":
                    ulong answer = Salt.Mixed(request.Between("index", 0, ulong.MaxValue));
                    return Plain(() => new Iteration(answer, 1, 1));
                default:
                    return null;
            }
        }

        static Done Given(Request request)
        {
            string answer = request.Text("answer");
            ulong ops = request.Between("ops", 0, ulong.MaxValue);
            string work = request.Text("work");
            bool counted = work != "-";
            return new Done
            {
                Answer = answer,
                Ops = ops,
                Work = counted ? Request.Number("work", work) : 0,
                Counted = counted,
            };
        }

        static ulong[] GivenEvents(Request request)
        {
            string text = request.Text("events");
            return text.Split(',').Select(word =>
            {
                ulong number;
                if (word == "" || !Numbers.TryParse(word, out number))
                {
                    throw Refusal.Misuse("--set events=" + text + " is no list of whole numbers");
                }
                return number;
            }).ToArray();
        }

        internal override void Sample(int batch, Sums sums)
        {
            var clock = Stopwatch.StartNew();
            for (int i = 0; i < batch; i++)
            {
                Forks.Add(forks);
                sums.Add(given, 1);
                sums.Events.AddRange(events);
            }
            sums.Ticks = clock.ElapsedTicks;
        }
    }
}
