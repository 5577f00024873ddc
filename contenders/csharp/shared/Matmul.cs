using System;
using System.Threading.Tasks;
using Palio;

/// <summary>
/// The row matmul: of four calls three are tasks, and the last one runs in place.
/// </summary>
sealed class Matmul
{
    /// <summary>The side of the blocks that are multiplied in place.</summary>
    const int Base = 32;

    readonly int n;
    readonly int[] a;
    readonly int[] b;
    readonly int[] c;
    ulong bases;

    Matmul(int n)
    {
        this.n = n;
        a = new int[n * n];
        b = new int[n * n];
        c = new int[n * n];
        for (int at = 0; at < n * n; at++)
        {
            a[at] = (int)(Salt.Mixed((ulong)at) % 5);
            // Its elements are numbered on from those of a.
            b[at] = (int)(Salt.Mixed((ulong)n * (ulong)n + (ulong)at) % 7);
        }
    }

    internal static Work Prepare(Request request)
    {
        int n = (int)request.Between("n", Base, 1 << 14);
        if ((n & (n - 1)) != 0)
        {
            throw Refusal.Misuse("--set n=" + n + " is not a power of two");
        }
        var row = new Matmul(n);
        return Work.Staged(row.Clear, row.Run, row.Finish).CountingForks();
    }

    void Clear()
    {
        Array.Clear(c, 0, c.Length);
    }

    void Run()
    {
        Forks.Handed();
        bases = Task.Run(() => Multiply(0, 0, 0, n)).GetAwaiter().GetResult();
    }

    Iteration Finish()
    {
        ulong sum = 0;
        for (int i = 0; i < n; i++)
        {
            for (int j = 0; j < n; j++)
            {
                sum += (ulong)c[i * n + j] * (ulong)(1 + (i + 3 * j) % 11);
            }
        }
        return new Iteration(sum, bases, bases);
    }

    /// <summary>C += A * B for blocks of this size that start at these elements.</summary>
    ulong Multiply(int cAt, int aAt, int bAt, int size)
    {
        if (size == Base)
        {
            MultiplyBase(cAt, aAt, bAt);
            return 1;
        }
        int half = size / 2;
        int below = half * n;
        int both = below + half;
        ulong first = Join(
            Fork(cAt, aAt, bAt, half),
            Fork(cAt + half, aAt, bAt + half, half),
            Fork(cAt + below, aAt + below, bAt, half),
            Multiply(cAt + both, aAt + below, bAt + half, half));
        return first + Join(
            Fork(cAt, aAt + half, bAt + below, half),
            Fork(cAt + half, aAt + half, bAt + both, half),
            Fork(cAt + below, aAt + both, bAt + below, half),
            Multiply(cAt + both, aAt + both, bAt + both, half));
    }

    Task<ulong> Fork(int cAt, int aAt, int bAt, int size)
    {
        Forks.Handed();
        return Task.Run(() => Multiply(cAt, aAt, bAt, size));
    }

    /// <summary>
    /// Joins three tasks, after the call in place has been made: the last argument.
    /// </summary>
    static ulong Join(Task<ulong> first, Task<ulong> second, Task<ulong> third, ulong inPlace)
    {
        return inPlace + third.GetAwaiter().GetResult() + second.GetAwaiter().GetResult()
            + first.GetAwaiter().GetResult();
    }

    /// <summary>The plain triple loop.</summary>
    void MultiplyBase(int cAt, int aAt, int bAt)
    {
        for (int i = 0; i < Base; i++)
        {
            for (int k = 0; k < Base; k++)
            {
                int factor = a[aAt + i * n + k];
                int cRow = cAt + i * n;
                int bRow = bAt + k * n;
                for (int j = 0; j < Base; j++)
                {
                    c[cRow + j] += factor * b[bRow + j];
                }
            }
        }
    }
}
