import java.util.Map;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import palio.Iteration;
import palio.Refusal;
import palio.Request;
import palio.Work;

/** The pool that a request asks for: as many workers as it says threads. */
final class Pool {
    /** The most that a pool can have. */
    private static final int THREADS_MAX = 0x7FFF;

    /** The knob that makes a worker take its own tasks in the order in which it made them. */
    private static final String ASYNC_MODE = "async_mode";

    private static final String ASYNC_MODE_DEFAULT = "false";

    /** The knob that bounds the threads which a pool adds while others are held up. */
    private static final String MAX_POOL_SIZE = "max_pool_size";

    private static final String MAX_POOL_SIZE_DEFAULT = Integer.toString(THREADS_MAX);

    /** The knob that says how many threads must not be held up before a pool adds others. */
    private static final String MIN_RUNNABLE = "min_runnable";

    private static final String MIN_RUNNABLE_DEFAULT = "1";

    /** The arguments of a pool's constructor, beside the threads, with what they are otherwise. */
    static final Map<String, String> KNOBS = Map.of(
            ASYNC_MODE, ASYNC_MODE_DEFAULT,
            MAX_POOL_SIZE, MAX_POOL_SIZE_DEFAULT,
            MIN_RUNNABLE, MIN_RUNNABLE_DEFAULT);

    /** How long a thread beyond the workers may be idle, as in `new ForkJoinPool(threads)`. */
    private static final long KEEP_ALIVE_S = 60;

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
        int most = Math.max(threads, request.knob(MAX_POOL_SIZE, MAX_POOL_SIZE_DEFAULT, 1, THREADS_MAX));
        int runnable = request.knob(MIN_RUNNABLE, MIN_RUNNABLE_DEFAULT, 0, THREADS_MAX);
        // All but the threads and the knobs is what `new ForkJoinPool(threads)` has.
        return () -> new ForkJoinPool(
                threads,
                ForkJoinPool.defaultForkJoinWorkerThreadFactory,
                null,
                asyncMode,
                0,
                most,
                runnable,
                null,
                KEEP_ALIVE_S,
                TimeUnit.SECONDS);
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
