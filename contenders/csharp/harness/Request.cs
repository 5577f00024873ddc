using System;
using System.Collections.Generic;
using System.Linq;

namespace Palio
{
    /// <summary>What the command line asks for.</summary>
    public sealed class Request
    {
        /// <summary>Whether this process is there to count its forks.</summary>
        internal static bool CountsForks;

        readonly Dictionary<string, string> settings = new Dictionary<string, string>();
        bool salted;

        public string Workload { get; private set; }

        public int Threads { get; private set; }

        internal static Request Parse(string[] args)
        {
            var request = new Request();
            bool counts = false;
            for (int i = 0; i < args.Length; i++)
            {
                string option = args[i];
                if (option == "--count-forks")
                {
                    RefuseTwice(option, counts);
                    counts = true;
                    continue;
                }
                if (!new[] { "--workload", "--threads", "--salt", "--set" }.Contains(option))
                {
                    throw Refusal.Misuse("unknown argument " + option);
                }
                if (++i == args.Length)
                {
                    throw Refusal.Misuse(option + " wants a value");
                }
                request.Take(option, args[i]);
            }
            RefuseMissing("--workload", request.Workload != null);
            RefuseMissing("--threads", request.Threads > 0);
            RefuseMissing("--salt", request.salted);
            CountsForks = counts;
            return request;
        }

        static void RefuseTwice(string what, bool seen)
        {
            if (seen)
            {
                throw Refusal.Misuse(what + " is given twice");
            }
        }

        static void RefuseMissing(string option, bool found)
        {
            if (!found)
            {
                throw Refusal.Misuse(option + " is missing");
            }
        }

        void Take(string option, string value)
        {
            switch (option)
            {
                case "--workload":
                    RefuseTwice(option, Workload != null);
                    Workload = value;
                    break;
                case "--threads":
                    RefuseTwice(option, Threads > 0);
                    int threads;
                    if (!Numbers.TryParseCount(value, out threads))
                    {
                        throw Refusal.Misuse("--threads " + value + " is not an integer of at least 1");
                    }
                    Threads = threads;
                    break;
                case "--salt":
                    RefuseTwice(option, salted);
                    if (!Numbers.TryParse(value, out Salt.Value))
                    {
                        throw Refusal.Misuse("--salt " + value + " is not a whole number of 64 bits");
                    }
                    salted = true;
                    break;
                default:
                    int equals = value.IndexOf('=');
                    if (equals < 1 || equals == value.Length - 1)
                    {
                        throw Refusal.Misuse("--set " + value + " is not KEY=VALUE");
                    }
                    if (value.Any(char.IsWhiteSpace))
                    {
                        throw Refusal.Misuse("--set " + value + " has white space in it");
                    }
                    string key = value.Substring(0, equals);
                    RefuseTwice("--set " + key, settings.ContainsKey(key));
                    settings[key] = value.Substring(equals + 1);
                    break;
            }
        }

        /// <summary>Takes a parameter of the workload.</summary>
        public string Text(string key)
        {
            string value;
            if (!settings.TryGetValue(key, out value))
            {
                throw Refusal.Misuse("the parameter " + key + " is missing: add --set " + key + "=…");
            }
            settings.Remove(key);
            return value;
        }

        /// <summary>Takes a parameter of the workload, one of a few words.</summary>
        public string OneOf(string key, params string[] words)
        {
            string value = Text(key);
            if (!words.Contains(value))
            {
                throw Refusal.Misuse("--set " + key + "=" + value + " is none of " + string.Join(", ", words));
            }
            return value;
        }

        /// <summary>Takes a parameter of the workload, a whole number from low to high.</summary>
        public ulong Between(string key, ulong low, ulong high)
        {
            string value = Text(key);
            ulong number = Number(key, value);
            if (number < low || number > high)
            {
                throw Refusal.Misuse("--set " + key + "=" + value + " is not from " + low + " to " + high);
            }
            return number;
        }

        /// <summary>
        /// Takes a parameter of the workload that says how many there are of something.
        /// </summary>
        public int Count(string key)
        {
            return (int)Between(key, 1, int.MaxValue);
        }

        internal static ulong Number(string key, string value)
        {
            ulong number;
            if (!Numbers.TryParse(value, out number))
            {
                throw Refusal.Misuse("--set " + key + "=" + value + " is not a whole number of 64 bits");
            }
            return number;
        }

        internal void RefuseWhatIsLeft()
        {
            if (settings.Count > 0)
            {
                // In order, so that the same mistake always gets the same message.
                throw Refusal.Misuse(Workload + " has no parameter or knob " + settings.Keys.Min());
            }
        }
    }
}
