import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.function.IntFunction;
import palio.Iteration;

/** Tasks that were spawned, and are joined one after the other. */
final class Handles {
    private final List<Future<Long>> handles;

    private Handles(int tasks) {
        handles = new ArrayList<>(tasks);
    }

    /** Spawns tasks, each of which is told its index, and keeps all handles. */
    static Handles spawn(ExecutorService executor, int tasks, IntFunction<Callable<Long>> task) {
        Handles spawned = new Handles(tasks);
        for (int i = 0; i < tasks; i++) {
            spawned.handles.add(executor.submit(task.apply(i)));
        }
        return spawned;
    }

    /** Spawns tasks that all do the same. */
    static Handles spawnAlike(ExecutorService executor, int tasks, Callable<Long> task) {
        return spawn(executor, tasks, i -> task);
    }

    /** The sum of what they return, for as many tasks as were joined. */
    Iteration join() {
        long sum = 0;
        long joined = 0;
        for (Future<Long> handle : handles) {
            sum += Scheduler.get(handle);
            joined++;
        }
        return new Iteration(sum, joined, joined);
    }

    /** The sum of what they return, which is what they did. */
    Iteration joinSum() {
        return Iteration.of(join().answer());
    }
}
