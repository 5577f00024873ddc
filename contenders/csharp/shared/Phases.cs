using System.Threading.Tasks;
using Palio;

/// <summary>The row held_out/phases: a task for each cell of a ring, phase after phase.</summary>
sealed class Phases
{
    readonly int cells;
    readonly int phases;
    readonly int steps;

    Phases(int cells, int phases, int steps)
    {
        this.cells = cells;
        this.phases = phases;
        this.steps = steps;
    }

    internal static Work Prepare(Request request)
    {
        var row = new Phases(
            request.Count("cells"),
            (int)request.Between("phases", 0, int.MaxValue),
            (int)request.Between("steps", 0, int.MaxValue));
        return Pool.Rooted(row.Run);
    }

    async Task<Iteration> Run()
    {
        var values = new ulong[cells];
        for (int i = 0; i < cells; i++)
        {
            values[i] = Salt.Mixed((ulong)i);
        }
        ulong tasks = 0;
        for (int phase = 0; phase < phases; phase++)
        {
            ulong[] present = values;
            var handles = new Task<ulong>[cells];
            for (int i = 0; i < cells; i++)
            {
                int cell = i;
                handles[i] = Task.Run(() => Next(present, cell));
            }
            values = await Task.WhenAll(handles).ConfigureAwait(false);
            tasks += (ulong)values.Length;
        }
        ulong sum = 0;
        foreach (ulong value in values)
        {
            sum = unchecked(sum + value);
        }
        return new Iteration(sum, tasks, tasks);
    }

    ulong Next(ulong[] values, int cell)
    {
        ulong left = values[(cell + cells - 1) % cells];
        ulong right = values[(cell + 1) % cells];
        ulong mixed = unchecked(left + 3 * values[cell] + 5 * right);
        for (int step = 0; step < steps; step++)
        {
            mixed = Salt.Mix(mixed, (ulong)cell);
        }
        return mixed;
    }
}
