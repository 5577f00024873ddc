import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.RecursiveAction;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import palio.Iteration;
import palio.Request;
import palio.Salt;
import palio.Work;

/** The rows spawn_one and defer_one: what is timed is who spawns, and not what is spawned. */
final class SpawnOne implements Work.Stages {
    private final ForkJoinPool pool;
    private final int tasks;
    private final Spawner spawner;
    private final AtomicLong sum = new AtomicLong();
    private final AtomicLong count = new AtomicLong();

    /** Has a permit when the last task has ended. */
    private final Semaphore ended = new Semaphore(0);

    private SpawnOne(ForkJoinPool pool, int tasks, Spawner spawner) {
        this.pool = pool;
        this.tasks = tasks;
        this.spawner = spawner;
    }

    static Work prepare(Request request) {
        int tasks = request.count("tasks");
        boolean outside = request.oneOf("from", "worker", "outside").equals("outside");
        return prepare(request, tasks, outside ? SpawnOne::executeAll : SpawnOne::forkAll);
    }

    static Work prepareDeferred(Request request) {
        return prepare(request, request.count("tasks"), SpawnOne::deferAll);
    }

    private static Work prepare(Request request, int tasks, Spawner spawner) {
        ForkJoinPool pool = Pool.maker(request).get();
        return Work.staged(new SpawnOne(pool, tasks, spawner)).stoppedBy(pool::close);
    }

    @Override
    public void prepare() {
        sum.set(0);
        count.set(0);
    }

    @Override
    public void run() {
        spawner.spawnAll(this);
    }

    /** From the thread outside. */
    private void executeAll() {
        for (int i = 0; i < tasks; i++) {
            pool.execute(this::one);
        }
    }

    private void forkAll() {
        pool.invoke(ForkJoinTask.adapt(() -> {
            for (int i = 0; i < tasks; i++) {
                new One(this).fork();
            }
        }));
    }

    /** A worker keeps what it submits lazily, and wakes nobody for it. */
    private void deferAll() {
        pool.invoke(ForkJoinTask.adapt(() -> {
            for (int i = 0; i < tasks; i++) {
                pool.lazySubmit(new One(this));
            }
        }));
    }

    private interface Spawner {
        void spawnAll(SpawnOne row);
    }

    private static final class One extends RecursiveAction {
        private static final long serialVersionUID = 1;

        private final transient SpawnOne row;

        One(SpawnOne row) {
            this.row = row;
        }

        @Override
        protected void compute() {
            row.one();
        }
    }

    private void one() {
        sum.addAndGet(Salt.salt + 1);
        if (count.incrementAndGet() == tasks) {
            ended.release();
        }
    }

    @Override
    public Iteration finish() {
        ended.acquireUninterruptibly();
        return new Iteration(sum.get(), count.get(), count.get());
    }
}
