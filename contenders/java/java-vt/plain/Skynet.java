import palio.Request;
import palio.Salt;
import palio.Work;

/** The row skynet: every child is a thread. */
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
