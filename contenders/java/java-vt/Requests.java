import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import palio.Iteration;
import palio.Request;
import palio.Salt;
import palio.Work;
import work.Mixing;

/** The row held_out/requests: each request has four tasks of its own. */
final class Requests {
    private static final int YIELDS = 4;

    private Requests() {}

    static Work prepare(Request request) {
        int requests = request.count("requests");
        int steps = (int) request.between("steps", 0, Integer.MAX_VALUE);
        return Scheduler.rooted(executor -> run(executor, requests, steps));
    }

    private static Iteration run(ExecutorService executor, int requests, int steps) {
        List<Future<Iteration>> handles = new ArrayList<>(requests);
        for (int i = 0; i < requests; i++) {
            long value = Salt.mixed(i);
            handles.add(executor.submit(() -> one(executor, value, steps)));
        }
        long sum = 0;
        long ops = 0;
        long tasks = 0;
        for (Future<Iteration> handle : handles) {
            Iteration part = Scheduler.get(handle);
            sum += part.answer();
            tasks += part.work();
            ops++;
        }
        return new Iteration(sum, ops, tasks);
    }

    /** One request: the sum of its four tasks, and the tasks, its own included. */
    private static Iteration one(ExecutorService executor, long value, int steps) throws InterruptedException {
        BlockingQueue<Long> channel = new ArrayBlockingQueue<>(1);
        List<Future<Long>> tasks = List.of(
                executor.submit(() -> Mixing.grind(value + 1, 1, steps)),
                executor.submit(() -> Mixing.grind(value + 2, 2, steps)),
                executor.submit(() -> {
                    for (int i = 0; i < YIELDS; i++) {
                        Thread.yield();
                    }
                    return Salt.mix(value, 3);
                }),
                executor.submit(() -> {
                    channel.put(Salt.mix(value, 4));
                    return 0L;
                }));
        long sum = channel.take();
        long joined = 1;
        for (Future<Long> task : tasks) {
            sum += Scheduler.get(task);
            joined++;
        }
        return new Iteration(sum, joined, joined);
    }
}
