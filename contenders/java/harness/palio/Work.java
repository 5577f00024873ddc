package palio;

import java.util.function.IntConsumer;
import java.util.function.IntFunction;
import java.util.function.Supplier;

/**
 * The work of one workload, ready to be iterated; closing it ends what runs between its samples.
 */
public abstract class Work implements AutoCloseable {
    private Runnable stop = () -> {};
    private IntConsumer announce = port -> {};
    private boolean forksCounted;

    /** Takes one sample, without its CPU time. */
    abstract void sample(int batch, Sums sums);

    /** Work that is timed as a whole: one clock reading before a batch, one after it. */
    public static Work plain(Supplier<Iteration> iterate) {
        return new Plain(iterate);
    }

    /**
     * Work whose iterations of one sample belong together, such as in one entry into a runtime: the
     * function does as many as it is told, reads the clock before the first and after the last of
     * them, where they are done, and reports them. The way there and back is not timed.
     */
    public static Work batched(IntFunction<Iterations> batch) {
        return new Batched(batch);
    }

    /** Work with untimed parts before and after each iteration. */
    public static Work staged(Stages stages) {
        return new Staged(stages);
    }

    /**
     * Work that clients outside of this process ask for, at this port of 127.0.0.1, where somebody
     * listens already: every iteration accepts connections, serves them to their end, and returns.
     */
    public static Work serving(int port, Supplier<Iteration> iterate) {
        return new Served(port, iterate);
    }

    /** Tells those outside of each iteration that is about to serve them, by its port. */
    final void announcedBy(IntConsumer announce) {
        this.announce = announce;
    }

    /** For what keeps something running: `stop` ends it after the last sample. */
    public final Work stoppedBy(Runnable stop) {
        this.stop = stop;
        return this;
    }

    /** For work that says {@link Forks#handed} wherever it hands something to the runtime. */
    public final Work countingForks() {
        forksCounted = true;
        return this;
    }

    final boolean forksCounted() {
        return forksCounted;
    }

    @Override
    public final void close() {
        stop.run();
    }

    /** The parts of an iteration, of which `run` alone is timed. */
    public interface Stages {
        void prepare();

        void run();

        Iteration finish();
    }

    private static final class Plain extends Work {
        private final Supplier<Iteration> iterate;

        Plain(Supplier<Iteration> iterate) {
            this.iterate = iterate;
        }

        @Override
        void sample(int batch, Sums sums) {
            Iterations done = Iterations.start();
            for (int i = 0; i < batch; i++) {
                done.add(iterate.get());
            }
            done.stop().addTo(sums);
        }
    }

    private static final class Batched extends Work {
        private final IntFunction<Iterations> batch;

        Batched(IntFunction<Iterations> batch) {
            this.batch = batch;
        }

        @Override
        void sample(int count, Sums sums) {
            batch.apply(count).addTo(sums);
        }
    }

    private static final class Staged extends Work {
        private final Stages stages;

        Staged(Stages stages) {
            this.stages = stages;
        }

        @Override
        void sample(int batch, Sums sums) {
            for (int i = 0; i < batch; i++) {
                stages.prepare();
                long start = System.nanoTime();
                stages.run();
                sums.elapsedNs += System.nanoTime() - start;
                sums.add(Done.of(stages.finish()), 1);
            }
        }
    }

    private static final class Served extends Work {
        private final int port;
        private final Supplier<Iteration> iterate;

        Served(int port, Supplier<Iteration> iterate) {
            this.port = port;
            this.iterate = iterate;
        }

        @Override
        void sample(int batch, Sums sums) {
            for (int i = 0; i < batch; i++) {
                ((Work) this).announce.accept(port);
                long start = System.nanoTime();
                Iteration served = iterate.get();
                sums.elapsedNs += System.nanoTime() - start;
                sums.add(Done.of(served), 1);
            }
        }
    }
}
