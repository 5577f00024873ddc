using System.Runtime.InteropServices;

namespace Palio
{
    /// <summary>The bound of how many files a process may have open.</summary>
    public static class Descriptors
    {
        /// <summary>RLIMIT_NOFILE, as Linux numbers it.</summary>
        const int OpenFiles = 7;

        [DllImport("libc", EntryPoint = "getrlimit")]
        static extern int GetLimit(int resource, [Out] ulong[] limit);

        [DllImport("libc", EntryPoint = "setrlimit")]
        static extern int SetLimit(int resource, [In] ulong[] limit);

        /// <summary>
        /// Raises the soft limit as far as it goes; refuses more than the hard one has.
        /// </summary>
        public static void Allow(ulong wanted)
        {
            var limit = new ulong[2];
            if (GetLimit(OpenFiles, limit) != 0)
            {
                throw Refusal.Unsupported("the limit of open files cannot be read");
            }
            if (limit[1] < wanted)
            {
                throw Refusal.Unsupported(
                    wanted + " open files are wanted, and the hard limit is " + limit[1] + ": ulimit -Hn");
            }
            limit[0] = limit[1];
            if (SetLimit(OpenFiles, limit) != 0)
            {
                throw Refusal.Unsupported("the limit of open files cannot be raised");
            }
        }
    }
}
