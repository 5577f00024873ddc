using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.InteropServices;
using System.Text;

namespace Palio
{
    /// <summary>Who takes part, and what it can run.</summary>
    public sealed class Contender
    {
        public string Id;

        /// <summary>The name and the version of what is raced, as it runs here.</summary>
        public string Runtime;

        public string Toolchain;
        public string Flags;
        public Dictionary<string, Func<Request, Work>> Workloads;
    }

    /// <summary>The contract of docs/protocol.md: a Main is one call of Run.</summary>
    public static class Harness
    {
        const int Protocol = 2;

        /// <summary>What a shell says of an abort.</summary>
        const int Crashed = 134;

        /// <summary>
        /// Speaks the contract on the standard streams, and ends the process. By the system's own
        /// call: mono stops its threads before it ends, and hangs in that about once in ten times
        /// where timers were used.
        /// </summary>
        public static void Run(Contender contender, string[] args)
        {
            // Every line was flushed when it was written.
            Exit(Serve(contender, args));
        }

        static int Serve(Contender contender, string[] args)
        {
            var utf8 = new UTF8Encoding(false, true);
            var output = new StreamWriter(Console.OpenStandardOutput(), utf8) { NewLine = "\n", AutoFlush = true };
            var errors = new StreamWriter(Console.OpenStandardError(), utf8) { NewLine = "\n", AutoFlush = true };
            try
            {
                if (args.Length > 0 && args[0] == "--describe")
                {
                    Describe(contender, args, output);
                }
                else
                {
                    Work work = Prepare(contender, Request.Parse(args));
                    Obey(work, new StreamReader(Console.OpenStandardInput(), utf8), output);
                }
                return 0;
            }
            catch (Refusal refusal)
            {
                errors.WriteLine(contender.Id + ": " + refusal.Message);
                return refusal.Status;
            }
            catch (Exception cause)
            {
                Crash(cause);
                return Crashed;
            }
        }

        /// <summary>
        /// Ends the process at once, with a status that is no refusal. From any thread. By the
        /// system's own call: `FailFast` has a debugger print all threads first, on mono.
        /// </summary>
        public static void Crash(Exception cause)
        {
            Console.Error.WriteLine(cause);
            Exit(Crashed);
        }

        [DllImport("libc", EntryPoint = "_exit")]
        internal static extern void Exit(int status);

        static void Describe(Contender contender, string[] args, TextWriter output)
        {
            if (args.Length > 1)
            {
                throw Refusal.Misuse("--describe stands alone");
            }
            output.WriteLine("protocol " + Protocol);
            output.WriteLine("id " + contender.Id);
            output.WriteLine("runtime " + contender.Runtime);
            output.WriteLine("toolchain " + contender.Toolchain);
            output.WriteLine("flags " + contender.Flags);
            foreach (string name in contender.Workloads.Keys)
            {
                output.WriteLine("workload " + name);
            }
        }

        static Work Prepare(Contender contender, Request request)
        {
            Work work = Conformance.Find(request);
            if (work == null)
            {
                Func<Request, Work> prepare;
                if (!contender.Workloads.TryGetValue(request.Workload, out prepare))
                {
                    throw Refusal.Unsupported(contender.Id + " does not run " + request.Workload);
                }
                work = prepare(request);
            }
            request.RefuseWhatIsLeft();
            if (Request.CountsForks && !work.ForksCounted)
            {
                throw Refusal.Unsupported(contender.Id + " does not count the forks of " + request.Workload);
            }
            return work;
        }

        /// <summary>Does what the input says until `quit` or its end.</summary>
        static void Obey(Work work, TextReader input, TextWriter output)
        {
            for (string line = ReadLine(input); line != null; line = ReadLine(input))
            {
                string[] words = line.Split((char[])null, StringSplitOptions.RemoveEmptyEntries);
                if (words.Length == 0)
                {
                    continue;
                }
                if (words.SequenceEqual(new[] { "quit" }))
                {
                    return;
                }
                int samples = 0;
                int batch = 1;
                bool understood = words[0] == "run" && (words.Length == 2 || words.Length == 3)
                    && Numbers.TryParseCount(words[1], out samples)
                    && (words.Length == 2 || Numbers.TryParseCount(words[2], out batch));
                if (!understood)
                {
                    throw Refusal.Misuse("expected run SAMPLES [BATCH], or quit, in the line " + Shown(line));
                }
                for (int i = 0; i < samples; i++)
                {
                    output.WriteLine(Sample(work, batch));
                }
                output.WriteLine("done " + samples);
            }
        }

        static string ReadLine(TextReader input)
        {
            try
            {
                return input.ReadLine();
            }
            catch (DecoderFallbackException)
            {
                throw Refusal.Misuse("a command that is not UTF-8");
            }
        }

        /// <summary>A flood on the input must not flood the error message too.</summary>
        static string Shown(string line)
        {
            return line.Length > 120 ? line.Substring(0, 120) + "…" : line;
        }

        static string Sample(Work work, int batch)
        {
            var sums = new Sums();
            ulong forksBefore = Forks.SoFar;
            CpuTime before = CpuTime.Now();
            work.Sample(batch, sums);
            CpuTime after = CpuTime.Now();
            // When the clock and the CPU time have been read: sorting is not the contender's work.
            string line = "sample " + sums + CpuTime.Text(before, after) + sums.Distribution();
            return Request.CountsForks ? line + " forks=" + (Forks.SoFar - forksBefore) : line;
        }
    }
}
