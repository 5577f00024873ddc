import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import palio.Iteration;
import palio.Request;
import palio.Work;
import work.Phases;

/** The row held_out/phases: a task for each cell, and all are joined before the next phase. */
final class PhasesOfThreads {
    private PhasesOfThreads() {}

    static Work prepare(Request request) {
        Phases ring = new Phases(request);
        return Scheduler.rooted(executor -> run(executor, ring));
    }

    private static Iteration run(ExecutorService executor, Phases ring) {
        ring.begin();
        long tasks = 0;
        for (int phase = 0; phase < ring.phases; phase++) {
            Future<?>[] handles = new Future<?>[ring.cells];
            for (int i = 0; i < ring.cells; i++) {
                int cell = i;
                handles[i] = executor.submit(() -> ring.step(cell));
            }
            for (Future<?> handle : handles) {
                Scheduler.get(handle);
                tasks++;
            }
            ring.endPhase();
        }
        return ring.iteration(tasks);
    }
}
