import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import palio.Iteration;
import palio.Request;
import palio.Salt;
import palio.Work;

/** The row spawn_one: what is timed is who spawns, and not what is spawned. */
final class SpawnOne implements Work.Stages {
    private final int tasks;
    private final boolean outside;
    private final AtomicLong sum = new AtomicLong();
    private final AtomicLong count = new AtomicLong();

    /** Has a permit when the last task has ended. */
    private final Semaphore ended = new Semaphore(0);

    private SpawnOne(int tasks, boolean outside) {
        this.tasks = tasks;
        this.outside = outside;
    }

    static Work prepare(Request request) {
        int tasks = request.count("tasks");
        return Work.staged(
                new SpawnOne(tasks, request.oneOf("from", "worker", "outside").equals("outside")));
    }

    @Override
    public void prepare() {
        sum.set(0);
        count.set(0);
    }

    @Override
    public void run() {
        if (outside) {
            spawn();
        } else {
            Scheduler.join(Thread.startVirtualThread(this::spawn));
        }
    }

    private void spawn() {
        for (int i = 0; i < tasks; i++) {
            Thread.startVirtualThread(this::one);
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
