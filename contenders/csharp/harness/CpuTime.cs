using System.Runtime.InteropServices;

namespace Palio
{
    /// <summary>CPU time of the whole process, in µs, as getrusage says it.</summary>
    struct CpuTime
    {
        const int RusageSelf = 0;

        /// <summary>
        /// Words of a struct rusage: two times of two, and fourteen; some to spare.
        /// </summary>
        const int Words = 32;

        long userUs;
        long sysUs;

        [DllImport("libc", EntryPoint = "getrusage")]
        static extern int GetRusage(int who, [Out] long[] usage);

        internal static CpuTime Now()
        {
            var usage = new long[Words];
            if (GetRusage(RusageSelf, usage) != 0)
            {
                throw new System.InvalidOperationException("getrusage failed");
            }
            return new CpuTime
            {
                userUs = usage[0] * 1000000 + usage[1],
                sysUs = usage[2] * 1000000 + usage[3],
            };
        }

        internal static string Text(CpuTime before, CpuTime after)
        {
            return " user_us=" + (after.userUs - before.userUs) + " sys_us=" + (after.sysUs - before.sysUs);
        }
    }
}
