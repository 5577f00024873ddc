import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import palio.Iteration;
import palio.Request;
import palio.Salt;
import palio.Work;
import work.Bell;

/** The rows of round trips; a future that is set once is a oneshot channel. */
final class PingPong {
    private PingPong() {}

    static Work preparePairs(Request request) {
        int pairs = request.count("pairs");
        BlockingQueue<Iteration> last = new ArrayBlockingQueue<>(1000);
        return Work.plain(() -> pairs(pairs, last));
    }

    /** All pairs are in flight at once, and the last one rings. */
    private static Iteration pairs(int pairs, BlockingQueue<Iteration> last) {
        AtomicInteger running = new AtomicInteger(pairs);
        AtomicLong sum = new AtomicLong();
        AtomicLong spawned = new AtomicLong();
        Thread.startVirtualThread(() -> {
            for (int i = 0; i < pairs; i++) {
                long value = Salt.salt + i;
                Thread.startVirtualThread(() -> {
                    sum.addAndGet(roundTrip(value));
                    // This task, and the one that sent the value back: nobody else could have.
                    spawned.addAndGet(2);
                    int others = running.decrementAndGet();
                    if (others == 0) {
                        last.add(new Iteration(sum.get(), pairs - others, spawned.get()));
                    }
                });
            }
        });
        return Bell.take(last);
    }

    static Work prepareRounds(Request request) {
        int rounds = request.count("rounds");
        return Work.plain(() -> Scheduler.onVirtualThread(() -> rounds(rounds)));
    }

    private static Iteration rounds(int rounds) {
        long sum = 0;
        long made = 0;
        for (int round = 0; round < rounds; round++) {
            sum += roundTrip(Salt.salt + round);
            made++;
        }
        return new Iteration(sum, made, made);
    }

    /** Sends a value to a new task, and returns what comes back. */
    private static long roundTrip(long value) {
        CompletableFuture<Long> there = new CompletableFuture<>();
        CompletableFuture<Long> home = new CompletableFuture<>();
        Thread.startVirtualThread(() -> home.complete(there.join()));
        there.complete(value);
        return home.join();
    }
}
