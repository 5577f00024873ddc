import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.RecursiveAction;
import java.util.function.LongConsumer;
import palio.Iteration;
import palio.Request;
import palio.Salt;
import palio.Work;
import work.Bell;

/** A link of a chain: it passes the count on to the next one, and ends at once. */
final class Chain extends RecursiveAction {
    private static final long serialVersionUID = 1;

    private final long before;
    private final long last;
    private final transient LongConsumer end;

    private Chain(long before, long last, LongConsumer end) {
        this.before = before;
        this.last = last;
        this.end = end;
    }

    /** The row of scope cold: a root task waits for the last link. */
    static Work prepare(Request request) {
        int depth = request.count("depth");
        return Pool.cold(request, pool -> pool.invoke(ForkJoinTask.adapt(() -> {
            CompletableFuture<Long> end = new CompletableFuture<>();
            start(depth, end::complete).fork();
            return iteration(end.join());
        })));
    }

    /** The row in which the thread outside waits for it. */
    static Work prepareFromOutside(Request request) {
        int depth = request.count("depth");
        BlockingQueue<Long> end = new ArrayBlockingQueue<>(1000);
        return Pool.steady(request, pool -> fromOutside(pool, depth, end));
    }

    private static Iteration fromOutside(ForkJoinPool pool, int depth, BlockingQueue<Long> end) {
        pool.execute(() -> start(depth, end::add).fork());
        return iteration(Bell.take(end));
    }

    private static Chain start(int depth, LongConsumer end) {
        return new Chain(Salt.salt, Salt.salt + depth, end);
    }

    private static Iteration iteration(long count) {
        long links = count - Salt.salt;
        return new Iteration(count, links, links);
    }

    @Override
    protected void compute() {
        long count = before + 1;
        if (count == last) {
            end.accept(count);
        } else {
            new Chain(count, last, end).fork();
        }
    }
}
