import palio.Request;
import palio.Salt;
import palio.Work;

/** The row skynet: of ten children nine are threads, and the last one runs in place. */
final class Skynet extends SkynetTask {
    private Skynet(long first, long size) {
        super(first, size);
    }

    static Work prepare(Request request) {
        return prepare(request, leaves -> new Skynet(Salt.salt, leaves));
    }

    @Override
    public void run() {
        if (size == 1) {
            sum = first;
            return;
        }
        Skynet[] children = new Skynet[CHILDREN];
        Thread[] threads = new Thread[CHILDREN - 1];
        long part = size / CHILDREN;
        for (int i = 0; i < CHILDREN; i++) {
            children[i] = new Skynet(first + i * part, part);
            if (i < threads.length) {
                threads[i] = Scheduler.fork(children[i]);
            }
        }
        children[threads.length].run();
        for (Thread thread : threads) {
            Scheduler.join(thread);
        }
        for (Skynet child : children) {
            sum += child.sum;
            tasks += child.tasks;
        }
    }
}
