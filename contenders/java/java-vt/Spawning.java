import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import palio.Iteration;
import palio.Refusal;
import palio.Request;
import palio.Salt;
import palio.Work;
import work.Bell;

/** The rows that spawn many small tasks. */
final class Spawning {
    /** An empty task, except for a result. */
    private static final Callable<Long> ONE = () -> 1L;

    private Spawning() {}

    static Work prepareFromInside(Request request) {
        int tasks = request.count("tasks");
        return Scheduler.rooted(executor -> Handles.spawnAlike(executor, tasks, ONE).joinSum());
    }

    static Work prepareFromOutside(Request request) {
        int tasks = request.count("tasks");
        return Work.plain(() -> Scheduler.withExecutor(
                executor -> Handles.spawnAlike(executor, tasks, ONE).joinSum()));
    }

    static Work prepareRemote(Request request) {
        int spawners = request.count("spawners");
        int tasks = (int) request.between("tasks", 0, Integer.MAX_VALUE);
        if (tasks % spawners != 0) {
            throw Refusal.misuse("--set tasks=" + tasks + " is no multiple of spawners=" + spawners);
        }
        return Scheduler.rooted(request, executor -> remote(executor, spawners, tasks / spawners));
    }

    /** Only the tasks that return something count, and not their spawners. */
    private static Iteration remote(ExecutorService executor, int spawners, int each) {
        List<Future<Iteration>> handles = new ArrayList<>(spawners);
        for (int i = 0; i < spawners; i++) {
            handles.add(executor.submit(
                    () -> Handles.spawnAlike(executor, each, () -> 1 + Salt.salt).join()));
        }
        long sum = 0;
        long tasks = 0;
        for (Future<Iteration> handle : handles) {
            Iteration part = Scheduler.get(handle);
            sum += part.answer();
            tasks += part.work();
        }
        return new Iteration(sum, tasks, tasks);
    }

    static Work prepareDetached(Request request) {
        int tasks = request.count("tasks");
        BlockingQueue<Long> last = new ArrayBlockingQueue<>(1000);
        return Work.plain(() -> Iteration.of(detached(tasks, last)));
    }

    /** Spawns from outside, keeps nothing, and waits until the last task rings. */
    private static long detached(int tasks, BlockingQueue<Long> last) {
        AtomicInteger running = new AtomicInteger(tasks);
        for (int i = 0; i < tasks; i++) {
            Thread.startVirtualThread(() -> {
                int others = running.decrementAndGet();
                if (others == 0) {
                    last.add((long) tasks - others);
                }
            });
        }
        return Bell.take(last);
    }

    static Work prepareStorm(Request request) {
        int busy = request.count("busy");
        int tasks = request.count("tasks");
        return Scheduler.rooted(executor -> storm(executor, busy, tasks));
    }

    /** Has company that yields until it is told to stop, and that is joined with the executor. */
    private static Iteration storm(ExecutorService executor, int busy, int tasks) {
        AtomicBoolean stopped = new AtomicBoolean();
        for (int i = 0; i < busy; i++) {
            executor.execute(() -> {
                while (!stopped.get()) {
                    Thread.yield();
                }
            });
        }
        Iteration joined = Handles.spawnAlike(executor, tasks, ONE).joinSum();
        stopped.set(true);
        return joined;
    }
}
