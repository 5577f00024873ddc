import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import palio.Iteration;
import palio.Request;
import palio.Salt;
import palio.Work;

/** The rows of sleeps and deadlines. */
final class Timers {
    private static final long SECOND_MS = 1000;

    private Timers() {}

    static Work prepareMany(Request request) {
        int sleepers = request.count("sleepers");
        return Scheduler.rooted(executor -> Handles.spawn(executor, sleepers, i -> () -> {
            long milliseconds = 1 + Long.remainderUnsigned(Salt.mixed(i), 10);
            Thread.sleep(milliseconds);
            return milliseconds;
        }).join());
    }

    static Work prepareTimeout(Request request) {
        int tasks = request.count("tasks");
        int timers = request.count("timers");
        return Scheduler.rooted(
                executor -> Handles.spawnAlike(executor, tasks, () -> timeOutNever(timers)).joinSum());
    }

    /** Waits for futures that are ready, a second at most. */
    private static long timeOutNever(int timers) throws Exception {
        long completed = 0;
        for (int i = 0; i < timers; i++) {
            completed += CompletableFuture.completedFuture(1).get(1, TimeUnit.SECONDS);
        }
        return completed;
    }

    static Work prepareDeadlines(Request request) {
        int tasks = request.count("tasks");
        return Scheduler.rooted(executor -> deadlines(executor, tasks));
    }

    private static Iteration deadlines(ExecutorService executor, int tasks) {
        return Handles.spawn(
                executor, tasks, i -> () -> withDeadline(executor, Salt.mixed(i))).join();
    }

    /** Waits for a task that sleeps, or for the deadline, which ends the task. */
    private static long withDeadline(ExecutorService executor, long number)
            throws InterruptedException, ExecutionException {
        long milliseconds = 1 + Long.remainderUnsigned(number >>> 1, 8);
        boolean ends = (number & 1) == 1;
        Future<?> sleeper = executor.submit(() -> {
            Thread.sleep(ends ? milliseconds : SECOND_MS);
            return null;
        });
        try {
            sleeper.get(ends ? SECOND_MS : milliseconds, TimeUnit.MILLISECONDS);
            return milliseconds;
        } catch (TimeoutException passed) {
            sleeper.cancel(true);
            return 100 + milliseconds;
        }
    }
}
