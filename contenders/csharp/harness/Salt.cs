namespace Palio
{
    /// <summary>
    /// The salt of this process. A global, because an argument more in every task would be a cost
    /// that the work does not have.
    /// </summary>
    public static class Salt
    {
        public static ulong Value;

        /// <summary>One output of splitmix64, from the state salt + index.</summary>
        public static ulong Mix(ulong salt, ulong index)
        {
            unchecked
            {
                ulong x = salt + index + 0x9E3779B97F4A7C15UL;
                x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9UL;
                x = (x ^ x >> 27) * 0x94D049BB133111EBUL;
                return x ^ x >> 31;
            }
        }

        public static ulong Mixed(ulong index)
        {
            return Mix(Value, index);
        }
    }
}
