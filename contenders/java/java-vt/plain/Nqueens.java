import palio.Request;
import palio.Work;
import work.Board;

/** The row nqueens: every legal placement is a thread. */
final class Nqueens extends NqueensTask {
    private Nqueens(long low, long high, int row, int rows) {
        super(low, high, row, rows);
    }

    static Work prepare(Request request) {
        return prepare(request, rows -> new Nqueens(0, 0, 0, rows));
    }

    @Override
    public void run() {
        // The empty board is no placement.
        placements = row == 0 ? 0 : 1;
        if (row == rows) {
            solutions = Board.weight(low, high, rows);
            return;
        }
        Nqueens[] children = new Nqueens[rows];
        Thread[] threads = new Thread[rows];
        int forked = 0;
        for (int column = 0; column < rows; column++) {
            if (Board.legal(low, high, row, column)) {
                children[forked] = new Nqueens(
                        Board.low(low, row, column), Board.high(high, row, column), row + 1, rows);
                threads[forked] = Scheduler.fork(children[forked]);
                forked++;
            }
        }
        for (int i = 0; i < forked; i++) {
            Scheduler.join(threads[i]);
            solutions += children[i].solutions;
            placements += children[i].placements;
        }
    }
}
