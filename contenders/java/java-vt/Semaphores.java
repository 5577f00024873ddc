import java.util.concurrent.Semaphore;
import palio.Request;
import palio.Work;

/** The rows of permits; the semaphore lives through all iterations. */
final class Semaphores {
    private Semaphores() {}

    static Work prepare(Request request) {
        int tasks = request.count("tasks");
        Semaphore semaphore = new Semaphore(request.count("permits"));
        return Scheduler.rooted(request, executor -> Handles.spawnAlike(executor, tasks, () -> {
            semaphore.acquire();
            semaphore.release();
            return 1L;
        }).joinSum());
    }
}
