using System;
using System.Threading.Tasks;
using Palio;

/// <summary>The row held_out/quicksort: one part is a task, the other is sorted in place.</summary>
sealed class Quicksort
{
    /// <summary>How many numbers are sorted by insertion.</summary>
    const int SmallPart = 16;

    readonly ulong[] unsorted;
    readonly ulong[] sorted;
    readonly int leaf;
    ulong tasks;

    Quicksort(int n, int leaf)
    {
        this.leaf = leaf;
        unsorted = new ulong[n];
        sorted = new ulong[n];
        for (int i = 0; i < n; i++)
        {
            unsorted[i] = unchecked((Salt.Mix(0, (ulong)i) >> 1) + (Salt.Value >> 1));
        }
    }

    internal static Work Prepare(Request request)
    {
        int n = (int)request.Between("n", 0, 1 << 30);
        var row = new Quicksort(n, (int)request.Between("leaf", SmallPart, int.MaxValue));
        return Work.Staged(row.Copy, row.Run, row.Finish);
    }

    void Copy()
    {
        Array.Copy(unsorted, sorted, unsorted.Length);
    }

    void Run()
    {
        tasks = Task.Run(() => Sort(0, sorted.Length)).GetAwaiter().GetResult();
    }

    Iteration Finish()
    {
        ulong sum = 0;
        for (int i = 0; i < sorted.Length; i++)
        {
            sum = unchecked(sum + ((ulong)i + 1) * sorted[i]);
        }
        return new Iteration(sum, (ulong)sorted.Length, tasks);
    }

    /// <summary>A task, which returns how many there were, itself included.</summary>
    ulong Sort(int from, int to)
    {
        if (to - from <= leaf)
        {
            SortHere(from, to);
            return 1;
        }
        int middle = Partition(from, to);
        Task<ulong> left = Task.Run(() => Sort(from, middle));
        ulong right = Sort(middle, to);
        return 1 + right + left.GetAwaiter().GetResult();
    }

    void SortHere(int from, int to)
    {
        while (to - from > SmallPart)
        {
            int middle = Partition(from, to);
            SortHere(from, middle);
            from = middle;
        }
        for (int end = from + 1; end < to; end++)
        {
            ulong number = sorted[end];
            int at = end;
            for (; at > from && sorted[at - 1] > number; at--)
            {
                sorted[at] = sorted[at - 1];
            }
            sorted[at] = number;
        }
    }

    /// <summary>Hoare's, around the median of the first, the middle and the last.</summary>
    int Partition(int from, int to)
    {
        ulong first = sorted[from];
        ulong middle = sorted[from + (to - from) / 2];
        ulong last = sorted[to - 1];
        ulong pivot = Math.Max(Math.Min(first, middle), Math.Min(Math.Max(first, middle), last));
        int left = from;
        int right = to - 1;
        while (true)
        {
            while (sorted[left] < pivot)
            {
                left++;
            }
            while (sorted[right] > pivot)
            {
                right--;
            }
            if (left >= right)
            {
                return right + 1;
            }
            ulong number = sorted[left];
            sorted[left++] = sorted[right];
            sorted[right--] = number;
        }
    }
}
