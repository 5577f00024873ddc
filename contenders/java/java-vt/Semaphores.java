import java.util.concurrent.ExecutorService;
import java.util.concurrent.Semaphore;
import java.util.function.Function;
import palio.Iteration;
import palio.Request;
import palio.Work;

/** The rows of permits; the semaphore lives through all iterations. */
final class Semaphores {
    private Semaphores() {}

    static Work prepare(Request request) {
        return Scheduler.rooted(request, permits(request));
    }

    static Work prepareInOne(Request request) {
        return Scheduler.rootedInOne(request, permits(request));
    }

    private static Function<ExecutorService, Iteration> permits(Request request) {
        int tasks = request.count("tasks");
        Semaphore semaphore = new Semaphore(request.count("permits"));
        return executor -> Handles.spawnAlike(executor, tasks, () -> {
            semaphore.acquire();
            semaphore.release();
            return 1L;
        }).joinSum();
    }
}
