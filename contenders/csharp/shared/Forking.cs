using System.Threading.Tasks;
using Palio;

/// <summary>
/// The rows fib and skynet: one call of fib is a task, and nine of ten children of skynet.
/// </summary>
static class Forking
{
    const int SkynetChildren = 10;

    /// <summary>One fork in the high half of what fib returns.</summary>
    const ulong OneFork = 1UL << 32;

    internal static Work PrepareFib(Request request)
    {
        // fib(47) has more forks than the high half can hold.
        ulong n = request.Between("n", 0, 46);
        // Even, so that the forks can be told from it.
        uint salt = unchecked((uint)Salt.Value) & ~1U;
        ulong argument = ((ulong)salt << 32) + n;
        return Work.Plain(() =>
        {
            Forks.Handed();
            ulong result = Task.Run(() => Fib(argument)).GetAwaiter().GetResult();
            ulong forks = ForksOf((uint)(result >> 32), salt);
            return new Iteration(result, forks, forks);
        }).CountingForks();
    }

    /// <summary>The argument has n in its low half and the salt in the high one.</summary>
    static ulong Fib(ulong argument)
    {
        if ((uint)argument < 2)
        {
            return argument;
        }
        Forks.Handed();
        Task<ulong> other = Task.Run(() => Fib(argument - 1));
        ulong here = Fib(argument - 2);
        return unchecked(here + other.GetAwaiter().GetResult() + OneFork);
    }

    /// <summary>
    /// The f of f + salt * (f + 1) modulo 2^32: each of the f + 1 leaves added the salt.
    /// </summary>
    static uint ForksOf(uint upper, uint salt)
    {
        unchecked
        {
            uint factor = salt + 1;
            // Newton's iteration for the inverse of an odd number, which has 3 right bits to begin
            // with and twice as many after each step.
            uint inverse = factor;
            for (int bits = 3; bits < 32; bits *= 2)
            {
                inverse *= 2 - factor * inverse;
            }
            return (upper - salt) * inverse;
        }
    }

    /// <summary>
    /// The sum of the indices below a task, and the tasks there, itself included.
    /// </summary>
    struct Subtree
    {
        internal ulong Sum;
        internal ulong Tasks;

        internal void Add(Subtree below)
        {
            unchecked
            {
                Sum += below.Sum;
                Tasks += below.Tasks;
            }
        }
    }

    internal static Work PrepareSkynet(Request request)
    {
        ulong leaves = request.Between("leaves", 1, 1000000000);
        for (ulong size = leaves; size > 1; size /= SkynetChildren)
        {
            if (size % SkynetChildren != 0)
            {
                throw Refusal.Misuse("--set leaves=" + leaves + " is not a power of ten");
            }
        }
        return Work.Plain(() =>
        {
            Forks.Handed();
            Subtree whole = Task.Run(() => Skynet(Salt.Value, leaves)).GetAwaiter().GetResult();
            return new Iteration(whole.Sum, whole.Tasks, whole.Tasks);
        }).CountingForks();
    }

    static Subtree Skynet(ulong first, ulong size)
    {
        if (size == 1)
        {
            return new Subtree { Sum = first, Tasks = 1 };
        }
        ulong part = size / SkynetChildren;
        var children = new Task<Subtree>[SkynetChildren - 1];
        for (int i = 0; i < children.Length; i++)
        {
            ulong from = unchecked(first + (ulong)i * part);
            Forks.Handed();
            children[i] = Task.Run(() => Skynet(from, part));
        }
        Subtree whole = Skynet(unchecked(first + (ulong)children.Length * part), part);
        whole.Tasks++;
        // Backwards, as a worker takes its newest task first.
        for (int i = children.Length - 1; i >= 0; i--)
        {
            whole.Add(children[i].GetAwaiter().GetResult());
        }
        return whole;
    }
}
