import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.function.Supplier;
import palio.Contender;
import palio.Forks;
import palio.Iteration;
import palio.Iterations;
import palio.Refusal;
import palio.Request;
import palio.Work;

/** The scheduler of virtual threads, which starts once in a process, and how tasks are put on it. */
final class Scheduler {
    /** The knob that bounds the threads which the scheduler adds while others are held up. */
    static final String MAX_POOL_SIZE = "max_pool_size";

    static final String MAX_POOL_SIZE_DEFAULT = "256";

    private static final int THREADS_MAX = 0x7FFF;

    private Scheduler() {}

    /** Says how many workers there are to be. Nothing has started a virtual thread before. */
    static void start(Request request) {
        int threads = request.threads();
        if (threads > THREADS_MAX) {
            throw Refusal.unsupported("the scheduler has at most " + THREADS_MAX + " workers, not " + threads);
        }
        int most = request.knob(MAX_POOL_SIZE, MAX_POOL_SIZE_DEFAULT, 1, THREADS_MAX);
        System.setProperty("jdk.virtualThreadScheduler.parallelism", Integer.toString(threads));
        System.setProperty(
                "jdk.virtualThreadScheduler.maxPoolSize", Integer.toString(Math.max(threads, most)));
    }

    /** A workload whose scheduler is told of the request first. */
    static Contender.Prepare started(Contender.Prepare prepare) {
        return request -> {
            start(request);
            return prepare.prepare(request);
        };
    }

    /** The same for a workload that is defined on one thread. */
    static Contender.Prepare onOneThread(Contender.Prepare prepare) {
        return request -> {
            if (request.threads() != 1) {
                throw Refusal.unsupported(
                        request.workload() + " is for one thread, not " + request.threads());
            }
            start(request);
            return prepare.prepare(request);
        };
    }

    /** Work whose root is a virtual thread, and whose tasks are given to an executor. */
    static Work rooted(Function<ExecutorService, Iteration> root) {
        return Work.plain(() -> onVirtualThread(() -> withExecutor(root)));
    }

    /** The same with a root that the request puts on a worker or outside. */
    static Work rooted(Request request, Function<ExecutorService, Iteration> root) {
        if (request.oneOf("root", "worker", "outside").equals("outside")) {
            return Work.plain(() -> withExecutor(root));
        }
        return rooted(root);
    }

    /**
     * The same with one root for all iterations of a sample, one after the other, and one executor
     * for all of them.
     */
    static Work rootedInOne(Request request, Function<ExecutorService, Iteration> root) {
        boolean outside = request.oneOf("root", "worker", "outside").equals("outside");
        return Work.batched(batch -> {
            Supplier<Iterations> all = () -> withExecutor(executor -> {
                Iterations done = Iterations.start();
                for (int i = 0; i < batch; i++) {
                    done.add(root.apply(executor));
                }
                return done.stop();
            });
            return outside ? all.get() : onVirtualThread(all);
        });
    }

    /** Closing the executor waits for all of its tasks. */
    static <T> T withExecutor(Function<ExecutorService, T> root) {
        try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            return root.apply(executor);
        }
    }

    /** Runs a root task and waits for what it returns. */
    static <T> T onVirtualThread(Supplier<T> task) {
        Root<T> root = new Root<>(task);
        join(fork(root));
        if (root.failure != null) {
            throw new IllegalStateException("the root task has failed", root.failure);
        }
        return root.result;
    }

    /** A failure must reach the harness: that of a thread would only be printed. */
    private static final class Root<T> implements Runnable {
        private final Supplier<T> task;
        private T result;
        private Throwable failure;

        Root(Supplier<T> task) {
            this.task = task;
        }

        @Override
        public void run() {
            try {
                result = task.get();
            } catch (Throwable error) {
                failure = error;
            }
        }
    }

    /** Starts a thread that may run on another worker. */
    static Thread fork(Runnable task) {
        Forks.handed();
        return Thread.startVirtualThread(task);
    }

    /** Waits for the end of a thread. No thread here is ever interrupted. */
    static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException error) {
            throw new IllegalStateException("nobody interrupts", error);
        }
    }

    /** What a task returns, once it has ended. */
    static <T> T get(Future<T> handle) {
        try {
            return handle.get();
        } catch (InterruptedException | ExecutionException error) {
            throw new IllegalStateException("the task has failed", error);
        }
    }
}
