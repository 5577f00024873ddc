using System;
using System.Threading;
using System.Threading.Tasks;
using Palio;

/// <summary>The row held_out/deadlines: a delay, and a token that a timer cancels.</summary>
static class Deadlines
{
    const int SecondMs = 1000;

    internal static Work Prepare(Request request)
    {
        int tasks = request.Count("tasks");
        return Pool.Rooted(() => Pool.SpawnAndJoin(
            tasks, i => Task.Run(() => WithDeadline(Salt.Mixed((ulong)i)))));
    }

    static async Task<ulong> WithDeadline(ulong number)
    {
        ulong milliseconds = 1 + (number >> 1) % 8;
        bool ends = number % 2 == 1;
        using (var deadline = new CancellationTokenSource(ends ? SecondMs : (int)milliseconds))
        {
            try
            {
                await Task.Delay(ends ? (int)milliseconds : SecondMs, deadline.Token).ConfigureAwait(false);
                return milliseconds;
            }
            catch (OperationCanceledException)
            {
                return 100 + milliseconds;
            }
        }
    }
}
