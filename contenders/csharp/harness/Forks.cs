using System.Threading;

namespace Palio
{
    /// <summary>
    /// The count of what is handed to the runtime. Whether this process counts never changes once
    /// the first workload runs, so that a compiler may take it for a constant.
    /// </summary>
    public static class Forks
    {
        static readonly bool Counted = Request.CountsForks;
        static long forks;

        /// <summary>
        /// Stands beside each call of the runtime that another worker could take over.
        /// </summary>
        public static void Handed()
        {
            if (Counted)
            {
                Interlocked.Increment(ref forks);
            }
        }

        internal static void Add(ulong more)
        {
            Interlocked.Add(ref forks, unchecked((long)more));
        }

        internal static ulong SoFar
        {
            get { return unchecked((ulong)Interlocked.Read(ref forks)); }
        }
    }
}
