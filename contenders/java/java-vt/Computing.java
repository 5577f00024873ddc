import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import palio.Iteration;
import palio.Request;
import palio.Salt;
import palio.Work;
import work.Primes;
import work.Recursion;

/** The rows of tasks that only compute. */
final class Computing {
    private Computing() {}

    static Work preparePrimes(Request request) {
        Primes primes = new Primes(request);
        return Scheduler.rooted(
                executor -> Handles.spawn(executor, primes.tasks, i -> () -> primes.weigh(i)).join());
    }

    static Work prepareRecursion(Request request) {
        Recursion recursion = new Recursion(request);
        return Scheduler.rooted(
                executor -> recursion.iteration(Scheduler.get(executor.submit(recursion::call))));
    }

    static Work preparePanics(Request request) {
        int tasks = request.count("tasks");
        return Scheduler.rooted(executor -> panics(executor, tasks));
    }

    private static Iteration panics(ExecutorService executor, int tasks) {
        List<Future<Long>> handles = new ArrayList<>(tasks);
        for (int i = 0; i < tasks; i++) {
            int task = i;
            handles.add(executor.submit(() -> throwIfOdd(task)));
        }
        long sum = 0;
        long joined = 0;
        for (Future<Long> handle : handles) {
            sum += returnedOrThrew(handle);
            joined++;
        }
        return new Iteration(sum, joined, joined);
    }

    private static long returnedOrThrew(Future<Long> handle) {
        try {
            return handle.get();
        } catch (ExecutionException threw) {
            return 1;
        } catch (InterruptedException error) {
            throw new IllegalStateException("nobody interrupts", error);
        }
    }

    private static long throwIfOdd(int task) {
        if (task % 2 == 1) {
            throw new IllegalStateException("odd");
        }
        return 1_000_000 + Salt.salt;
    }
}
