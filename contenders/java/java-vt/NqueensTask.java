import java.util.function.IntFunction;
import palio.Iteration;
import palio.Request;
import palio.Work;
import work.Board;

/** A placement of the row nqueens; `Nqueens` says how it forks those below it. */
abstract class NqueensTask implements Runnable {
    final long low;
    final long high;
    final int row;
    final int rows;
    long solutions;
    long placements;

    /** A board whose rows above `row` are filled. */
    NqueensTask(long low, long high, int row, int rows) {
        this.low = low;
        this.high = high;
        this.row = row;
        this.rows = rows;
    }

    /** `empty` makes the task of an empty board with so many rows. */
    static Work prepare(Request request, IntFunction<NqueensTask> empty) {
        int rows = Board.rows(request);
        return Work.plain(() -> {
            NqueensTask root = empty.apply(rows);
            Scheduler.join(Scheduler.fork(root));
            return new Iteration(root.solutions, root.placements, root.placements);
        }).countingForks();
    }
}
