import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.RecursiveAction;
import palio.Iteration;
import palio.Request;
import palio.Work;
import work.Phases;

/** The row held_out/phases: a task for each cell, and all are joined before the next phase. */
final class PhasesOfTasks {
    private PhasesOfTasks() {}

    static Work prepare(Request request) {
        Phases ring = new Phases(request);
        return Pool.steady(request, pool -> run(pool, ring));
    }

    private static Iteration run(ForkJoinPool pool, Phases ring) {
        ring.begin();
        Root root = new Root(ring);
        pool.invoke(root);
        return ring.iteration(root.tasks);
    }

    private static final class Root extends RecursiveAction {
        private static final long serialVersionUID = 1;

        private final transient Phases ring;
        private long tasks;

        Root(Phases ring) {
            this.ring = ring;
        }

        @Override
        protected void compute() {
            for (int phase = 0; phase < ring.phases; phase++) {
                List<Cell> cells = new ArrayList<>(ring.cells);
                for (int cell = 0; cell < ring.cells; cell++) {
                    cells.add(new Cell(ring, cell));
                }
                ForkJoinTask.invokeAll(cells);
                for (Cell cell : cells) {
                    tasks += cell.ended;
                }
                ring.endPhase();
            }
        }
    }

    private static final class Cell extends RecursiveAction {
        private static final long serialVersionUID = 1;

        private final transient Phases ring;
        private final int cell;
        private int ended;

        Cell(Phases ring, int cell) {
            this.ring = ring;
            this.cell = cell;
        }

        @Override
        protected void compute() {
            ring.step(cell);
            ended = 1;
        }
    }
}
