import palio.Iteration;
import palio.Refusal;
import palio.Request;
import palio.Salt;
import palio.Work;

/** The row skynet: every child is a thread. */
final class Skynet implements Runnable {
    private static final int CHILDREN = 10;

    private final long first;
    private final long size;
    private long sum;
    private long tasks = 1;

    private Skynet(long first, long size) {
        this.first = first;
        this.size = size;
    }

    static Work prepare(Request request) {
        long leaves = request.between("leaves", 1, 1_000_000_000);
        for (long size = leaves; size > 1; size /= CHILDREN) {
            if (size % CHILDREN != 0) {
                throw Refusal.misuse("--set leaves=" + leaves + " is not a power of ten");
            }
        }
        return Work.plain(() -> {
            Skynet root = new Skynet(Salt.salt, leaves);
            Scheduler.join(Scheduler.fork(root));
            return new Iteration(root.sum, root.tasks, root.tasks);
        }).countingForks();
    }

    @Override
    public void run() {
        if (size == 1) {
            sum = first;
            return;
        }
        Skynet[] children = new Skynet[CHILDREN];
        Thread[] threads = new Thread[CHILDREN];
        long part = size / CHILDREN;
        for (int i = 0; i < CHILDREN; i++) {
            children[i] = new Skynet(first + i * part, part);
            threads[i] = Scheduler.fork(children[i]);
        }
        for (int i = 0; i < CHILDREN; i++) {
            Scheduler.join(threads[i]);
            sum += children[i].sum;
            tasks += children[i].tasks;
        }
    }
}
