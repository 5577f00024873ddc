using System;
using System.Globalization;

namespace Palio
{
    /// <summary>
    /// Whole numbers of 64 bits in decimal digits alone, as the contract has them.
    /// </summary>
    static class Numbers
    {
        /// <summary>
        /// Unlike the parser of the library alone, refuses digits of other scripts.
        /// </summary>
        internal static bool TryParse(string text, out ulong number)
        {
            number = 0;
            foreach (char digit in text)
            {
                if (digit < '0' || digit > '9')
                {
                    return false;
                }
            }
            return ulong.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out number);
        }

        internal static bool TryParseCount(string text, out int count)
        {
            ulong number;
            bool parsed = TryParse(text, out number) && number >= 1 && number <= int.MaxValue;
            count = parsed ? (int)number : 0;
            return parsed;
        }
    }
}
