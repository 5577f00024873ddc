import java.util.concurrent.RecursiveAction;
import palio.Forks;
import palio.Iteration;
import palio.Request;
import palio.Work;
import work.Board;

/** The row nqueens: a task is a legal placement; the last one of a row runs in place. */
final class Nqueens extends RecursiveAction {
    private static final long serialVersionUID = 1;

    private final long low;
    private final long high;
    private final int row;
    private final int rows;
    private long solutions;
    private long placements;

    /** A board whose rows above `row` are filled. */
    private Nqueens(long low, long high, int row, int rows) {
        this.low = low;
        this.high = high;
        this.row = row;
        this.rows = rows;
    }

    static Work prepare(Request request) {
        int rows = Board.rows(request);
        return Pool.steady(request, pool -> {
            Nqueens root = new Nqueens(0, 0, 0, rows);
            Forks.handed();
            pool.invoke(root);
            return new Iteration(root.solutions, root.placements, root.placements);
        }).countingForks();
    }

    @Override
    protected void compute() {
        // The empty board is no placement.
        placements = row == 0 ? 0 : 1;
        if (row == rows) {
            solutions = Board.weight(low, high, rows);
            return;
        }
        Nqueens[] children = new Nqueens[rows];
        int found = 0;
        for (int column = 0; column < rows; column++) {
            if (Board.legal(low, high, row, column)) {
                // The one before is not the last.
                if (found > 0) {
                    Forks.handed();
                    children[found - 1].fork();
                }
                children[found++] = new Nqueens(
                        Board.low(low, row, column), Board.high(high, row, column), row + 1, rows);
            }
        }
        if (found > 0) {
            children[found - 1].compute();
        }
        // Backwards, as the children lie on the worker's own stack of tasks.
        for (int i = found - 1; i >= 0; i--) {
            if (i < found - 1) {
                children[i].join();
            }
            solutions += children[i].solutions;
            placements += children[i].placements;
        }
    }
}
