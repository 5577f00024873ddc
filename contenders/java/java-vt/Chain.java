import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongConsumer;
import palio.Iteration;
import palio.Request;
import palio.Salt;
import palio.Work;
import work.Bell;

/** A link of a chain: it passes the count on to the next one, and ends at once. */
final class Chain implements Runnable {
    private final long before;
    private final long last;
    private final LongConsumer end;

    private Chain(long before, long last, LongConsumer end) {
        this.before = before;
        this.last = last;
        this.end = end;
    }

    /** The row in which a root task waits for the last link. */
    static Work prepare(Request request) {
        int depth = request.count("depth");
        return Work.plain(() -> Scheduler.onVirtualThread(() -> {
            CompletableFuture<Long> end = new CompletableFuture<>();
            Thread.startVirtualThread(first(depth, end::complete));
            return iteration(end.join());
        }));
    }

    /** The row in which the thread outside waits for it. */
    static Work prepareFromOutside(Request request) {
        int depth = request.count("depth");
        BlockingQueue<Long> end = new ArrayBlockingQueue<>(1000);
        return Work.plain(() -> fromOutside(depth, end));
    }

    private static Iteration fromOutside(int depth, BlockingQueue<Long> end) {
        Thread.startVirtualThread(() -> Thread.startVirtualThread(first(depth, end::add)));
        return iteration(Bell.take(end));
    }

    private static Chain first(int depth, LongConsumer end) {
        return new Chain(Salt.salt, Salt.salt + depth, end);
    }

    private static Iteration iteration(long count) {
        long links = count - Salt.salt;
        return new Iteration(count, links, links);
    }

    @Override
    public void run() {
        long count = before + 1;
        if (count == last) {
            end.accept(count);
        } else {
            Thread.startVirtualThread(new Chain(count, last, end));
        }
    }
}
