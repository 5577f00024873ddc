import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.atomic.AtomicInteger;
import palio.Iteration;
import palio.Refusal;
import palio.Request;
import palio.Salt;
import palio.Work;
import work.Bell;

/** The rows that spawn many small tasks. */
final class Spawning {
    private Spawning() {}

    static Work prepareOnOneThread(Request request) {
        Pool.refuseMoreThanOneThread(request);
        int tasks = request.count("tasks");
        return Pool.steady(request, pool ->
                pool.invoke(ForkJoinTask.adapt(() -> Iteration.of(forkAndJoin(tasks, Spawning::one)))));
    }

    static Work prepareFromOutside(Request request) {
        int tasks = request.count("tasks");
        return Pool.steady(request, pool -> Iteration.of(submitAndJoin(pool, tasks)));
    }

    static Work prepareRemote(Request request) {
        int spawners = request.count("spawners");
        int tasks = (int) request.between("tasks", 0, Integer.MAX_VALUE);
        if (tasks % spawners != 0) {
            throw Refusal.misuse("--set tasks=" + tasks + " is no multiple of spawners=" + spawners);
        }
        boolean outside = request.oneOf("root", "worker", "outside").equals("outside");
        int each = tasks / spawners;
        return Pool.steady(request, pool -> outside
                ? remote(joined(spawners, () -> pool.submit(() -> ones(each))))
                : pool.invoke(ForkJoinTask.adapt(
                        () -> remote(joined(spawners, () -> ForkJoinTask.adapt(() -> ones(each)).fork())))));
    }

    static Work prepareDetached(Request request) {
        int tasks = request.count("tasks");
        BlockingQueue<Long> last = new ArrayBlockingQueue<>(1000);
        return Pool.steady(request, pool -> Iteration.of(detached(pool, tasks, last)));
    }

    private static long one() {
        return 1;
    }

    private static long saltedOne() {
        return 1 + Salt.salt;
    }

    /** Forks tasks from a worker, keeps them, and returns the sum of what they return. */
    private static long forkAndJoin(int tasks, Callable<Long> task) {
        List<ForkJoinTask<Long>> handles = new ArrayList<>(tasks);
        for (int i = 0; i < tasks; i++) {
            handles.add(ForkJoinTask.adapt(task).fork());
        }
        long sum = 0;
        for (ForkJoinTask<Long> handle : handles) {
            sum += handle.join();
        }
        return sum;
    }

    private static long submitAndJoin(ForkJoinPool pool, int tasks) {
        List<ForkJoinTask<Long>> handles = new ArrayList<>(tasks);
        for (int i = 0; i < tasks; i++) {
            Callable<Long> task = Spawning::one;
            handles.add(pool.submit(task));
        }
        long sum = 0;
        for (ForkJoinTask<Long> handle : handles) {
            sum += handle.join();
        }
        return sum;
    }

    /** What a spawner returns: the sum of its tasks' numbers, and how many there were. */
    private record Spawned(long sum, long tasks) {}

    private static Spawned ones(int tasks) {
        List<ForkJoinTask<Long>> handles = new ArrayList<>(tasks);
        for (int i = 0; i < tasks; i++) {
            handles.add(ForkJoinTask.adapt(Spawning::saltedOne).fork());
        }
        long sum = 0;
        long joined = 0;
        for (ForkJoinTask<Long> handle : handles) {
            sum += handle.join();
            joined++;
        }
        return new Spawned(sum, joined);
    }

    private static List<Spawned> joined(
            int spawners, java.util.function.Supplier<ForkJoinTask<Spawned>> spawn) {
        List<ForkJoinTask<Spawned>> handles = new ArrayList<>(spawners);
        for (int i = 0; i < spawners; i++) {
            handles.add(spawn.get());
        }
        List<Spawned> joined = new ArrayList<>(spawners);
        for (ForkJoinTask<Spawned> handle : handles) {
            joined.add(handle.join());
        }
        return joined;
    }

    private static Iteration remote(List<Spawned> joined) {
        long sum = 0;
        long tasks = 0;
        for (Spawned part : joined) {
            sum += part.sum;
            tasks += part.tasks;
        }
        return new Iteration(sum, tasks, tasks);
    }

    /** Spawns from outside, keeps nothing, and waits until the last task rings. */
    private static long detached(ForkJoinPool pool, int tasks, BlockingQueue<Long> last) {
        AtomicInteger running = new AtomicInteger(tasks);
        for (int i = 0; i < tasks; i++) {
            pool.execute(() -> {
                int others = running.decrementAndGet();
                if (others == 0) {
                    last.add((long) tasks - others);
                }
            });
        }
        return Bell.take(last);
    }
}
