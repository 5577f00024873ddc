import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ForkJoinTask;
import java.util.function.IntFunction;
import palio.Iteration;
import palio.Request;
import palio.Salt;
import palio.Work;
import work.Primes;
import work.Recursion;

/** Rows of tasks that only compute, each iteration on a pool of its own. */
final class Cold {
    private Cold() {}

    static Work preparePrimes(Request request) {
        Primes primes = new Primes(request);
        return Pool.cold(request, pool -> pool.invoke(ForkJoinTask.adapt(() -> {
            long sum = 0;
            long joined = 0;
            for (ForkJoinTask<Long> handle : fork(primes.tasks, i -> ForkJoinTask.adapt(() -> primes.weigh(i)))) {
                sum += handle.join();
                joined++;
            }
            return new Iteration(sum, joined, joined);
        })));
    }

    static Work prepareRecursion(Request request) {
        Recursion recursion = new Recursion(request);
        return Pool.cold(request, pool ->
                recursion.iteration(pool.invoke(ForkJoinTask.adapt(recursion::call))));
    }

    static Work preparePanics(Request request) {
        int tasks = request.count("tasks");
        return Pool.cold(request, pool -> pool.invoke(ForkJoinTask.adapt(() -> {
            long sum = 0;
            long joined = 0;
            for (ForkJoinTask<Long> handle : fork(tasks, i -> ForkJoinTask.adapt(() -> throwIfOdd(i)))) {
                // Waits as `join`, which would throw what the task has thrown.
                handle.quietlyJoin();
                sum += handle.isCompletedAbnormally() ? 1 : handle.getRawResult();
                joined++;
            }
            return new Iteration(sum, joined, joined);
        })));
    }

    private static <T> List<ForkJoinTask<T>> fork(int tasks, IntFunction<ForkJoinTask<T>> make) {
        List<ForkJoinTask<T>> handles = new ArrayList<>(tasks);
        for (int i = 0; i < tasks; i++) {
            handles.add(make.apply(i).fork());
        }
        return handles;
    }

    private static long throwIfOdd(int i) {
        if (i % 2 == 1) {
            throw new IllegalStateException("odd");
        }
        return 1_000_000 + Salt.salt;
    }
}
