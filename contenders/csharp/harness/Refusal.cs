using System;

namespace Palio
{
    /// <summary>
    /// Why something cannot be run as asked, with the exit status of the contract.
    /// </summary>
    public sealed class Refusal : Exception
    {
        const int MisuseStatus = 2;
        const int UnsupportedStatus = 3;

        internal readonly int Status;

        Refusal(int status, string reason) : base(reason)
        {
            Status = status;
        }

        /// <summary>Refuses what makes no sense.</summary>
        public static Refusal Misuse(string reason)
        {
            return new Refusal(MisuseStatus, reason);
        }

        /// <summary>Refuses what makes sense, but is not done by this contender.</summary>
        public static Refusal Unsupported(string reason)
        {
            return new Refusal(UnsupportedStatus, reason);
        }
    }
}
