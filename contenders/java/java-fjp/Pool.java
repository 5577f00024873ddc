import java.util.concurrent.ForkJoinPool;
import java.util.function.Supplier;
import palio.Iteration;
import palio.Refusal;
import palio.Request;
import palio.Work;

/** The pool that a request asks for: as many workers as it says threads. */
final class Pool {
    /** The knob that makes a worker take its own tasks in the order in which it made them. */
    static final String ASYNC_MODE = "async_mode";

    static final String ASYNC_MODE_DEFAULT = "false";

    /** The most that a pool can have. */
    private static final int THREADS_MAX = 0x7FFF;

    private Pool() {}

    /** Makes pools of the kind that the request asks for. */
    static Supplier<ForkJoinPool> maker(Request request) {
        int threads = request.threads();
        if (threads > THREADS_MAX) {
            throw Refusal.unsupported("a ForkJoinPool has at most " + THREADS_MAX + " workers, not " + threads);
        }
        String text = request.knob(ASYNC_MODE, ASYNC_MODE_DEFAULT);
        if (!text.equals("true") && !text.equals("false")) {
            throw Refusal.misuse("--set " + ASYNC_MODE + "=" + text + " is neither true nor false");
        }
        boolean asyncMode = text.equals("true");
        // All but the threads and the mode is what `new ForkJoinPool(threads)` has.
        return () -> new ForkJoinPool(
                threads, ForkJoinPool.defaultForkJoinWorkerThreadFactory, null, asyncMode);
    }

    /** Work on a pool that lives through all samples. */
    static Work steady(Request request, java.util.function.Function<ForkJoinPool, Iteration> iterate) {
        ForkJoinPool pool = maker(request).get();
        return Work.plain(() -> iterate.apply(pool)).stoppedBy(pool::close);
    }

    /** Work that makes and closes a pool in each iteration, inside the clock. */
    static Work cold(Request request, java.util.function.Function<ForkJoinPool, Iteration> iterate) {
        Supplier<ForkJoinPool> maker = maker(request);
        return Work.plain(() -> {
            try (ForkJoinPool pool = maker.get()) {
                return iterate.apply(pool);
            }
        });
    }

    static void refuseMoreThanOneThread(Request request) {
        if (request.threads() != 1) {
            throw Refusal.unsupported(
                    request.workload() + " is for one thread, not " + request.threads());
        }
    }
}
