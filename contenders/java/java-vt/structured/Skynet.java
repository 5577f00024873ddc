import palio.Request;
import palio.Salt;
import palio.Work;

/** The row skynet: nine of ten children are forked in one scope, and the last one runs in place. */
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
        long part = size / CHILDREN;
        try (Scope scope = new Scope()) {
            for (int i = 0; i < CHILDREN; i++) {
                children[i] = new Skynet(first + i * part, part);
                if (i < CHILDREN - 1) {
                    scope.fork(children[i]);
                }
            }
            children[CHILDREN - 1].run();
            scope.join();
        }
        for (Skynet child : children) {
            sum += child.sum;
            tasks += child.tasks;
        }
    }
}
