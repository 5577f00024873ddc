import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import palio.Iteration;
import palio.Request;
import palio.Salt;
import palio.Work;
import work.Bell;

/** The rows of tasks that go through the scheduler. */
final class Yielding {
    private Yielding() {}

    static Work prepare(Request request) {
        int tasks = request.count("tasks");
        int yields = request.count("yields");
        return Scheduler.rooted(
                executor -> Handles.spawnAlike(executor, tasks, () -> yieldOften(yields)).joinSum());
    }

    static Work prepareFromOutside(Request request) {
        int tasks = request.count("tasks");
        int yields = request.count("yields");
        BlockingQueue<Long> yielded = new ArrayBlockingQueue<>(tasks);
        return Work.plain(() -> {
            for (int i = 0; i < tasks; i++) {
                Thread.startVirtualThread(() -> yielded.add(yieldOften(yields)));
            }
            long sum = 0;
            for (int i = 0; i < tasks; i++) {
                sum += Bell.take(yielded);
            }
            return Iteration.of(sum);
        });
    }

    private static long yieldOften(int yields) {
        long yielded = 0;
        for (int i = 0; i < yields; i++) {
            Thread.yield();
            yielded++;
        }
        return yielded;
    }

    static Work prepareOnce(Request request) {
        int tasks = request.count("tasks");
        return Scheduler.rooted(executor -> Handles.spawnAlike(executor, tasks, ONCE).join());
    }

    static Work prepareOnceRooted(Request request) {
        int tasks = request.count("tasks");
        return Scheduler.rooted(request, executor -> Handles.spawnAlike(executor, tasks, ONCE).join());
    }

    private static final Callable<Long> ONCE = () -> {
        Thread.yield();
        return 2 + Salt.salt;
    };
}
