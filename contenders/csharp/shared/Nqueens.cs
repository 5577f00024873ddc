using System.Collections.Generic;
using System.Threading.Tasks;
using Palio;

/// <summary>The row nqueens: every legal placement in a row is a task but the last.</summary>
static class Nqueens
{
    const int RowsMax = 16;

    /// <summary>
    /// The column of the queen in each row. The two halves hold eight rows each, so that a board is
    /// passed by value: C# has no arrays that are values.
    /// </summary>
    struct Board
    {
        ulong low;
        ulong high;

        internal int Queen(int row)
        {
            return (int)((row < 8 ? low : high) >> 8 * (row & 7)) & 0xFF;
        }

        internal Board With(int row, int column)
        {
            Board board = this;
            if (row < 8)
            {
                board.low |= (ulong)column << 8 * row;
            }
            else
            {
                board.high |= (ulong)column << 8 * (row - 8);
            }
            return board;
        }

        /// <summary>Whether a queen of this column stands against none in the rows above.</summary>
        internal bool Allows(int row, int column)
        {
            for (int above = 0; above < row; above++)
            {
                int apart = Queen(above) - column;
                if (apart == 0 || apart == row - above || apart == above - row)
                {
                    return false;
                }
            }
            return true;
        }
    }

    /// <summary>
    /// The weighed solutions below a task, and the placements made, its own included.
    /// </summary>
    struct Found
    {
        internal ulong Solutions;
        internal ulong Placements;
    }

    internal static Work Prepare(Request request)
    {
        int rows = (int)request.Between("n", 1, 255);
        if (rows > RowsMax)
        {
            throw Refusal.Unsupported("boards have at most 16 rows, not --set n=" + rows);
        }
        return Work.Plain(() =>
        {
            Forks.Handed();
            Found all = Task.Run(() => Try(default(Board), 0, rows)).GetAwaiter().GetResult();
            return new Iteration(all.Solutions, all.Placements, all.Placements);
        }).CountingForks();
    }

    /// <summary>A task: the last queen was put into the row above this one.</summary>
    static Found Place(Board board, int row, int rows)
    {
        if (row == rows)
        {
            return new Found { Solutions = Salt.Mixed((ulong)board.Queen(row - 1)), Placements = 1 };
        }
        Found below = Try(board, row, rows);
        below.Placements++;
        return below;
    }

    static Found Try(Board board, int row, int rows)
    {
        var children = new List<Task<Found>>(rows);
        // The last legal column so far. It is forked when there is another one behind it.
        int last = -1;
        for (int column = 0; column < rows; column++)
        {
            if (!board.Allows(row, column))
            {
                continue;
            }
            if (last >= 0)
            {
                Board child = board.With(row, last);
                Forks.Handed();
                children.Add(Task.Run(() => Place(child, row + 1, rows)));
            }
            last = column;
        }
        var all = last < 0 ? new Found() : Place(board.With(row, last), row + 1, rows);
        // Backwards, as a worker takes its newest task first.
        for (int i = children.Count - 1; i >= 0; i--)
        {
            Found below = children[i].GetAwaiter().GetResult();
            all.Solutions = unchecked(all.Solutions + below.Solutions);
            all.Placements += below.Placements;
        }
        return all;
    }
}
