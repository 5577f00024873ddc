import java.util.concurrent.RecursiveAction;
import palio.Forks;
import palio.Iteration;
import palio.Refusal;
import palio.Request;
import palio.Salt;
import palio.Work;

/** The row skynet: ten children, nine of which are forked; the last one runs in place. */
final class Skynet extends RecursiveAction {
    private static final long serialVersionUID = 1;
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
        return Pool.steady(request, pool -> {
            Skynet root = new Skynet(Salt.salt, leaves);
            Forks.handed();
            pool.invoke(root);
            return new Iteration(root.sum, root.tasks, root.tasks);
        }).countingForks();
    }

    @Override
    protected void compute() {
        if (size == 1) {
            sum = first;
            return;
        }
        Skynet[] children = new Skynet[CHILDREN];
        long part = size / CHILDREN;
        for (int i = 0; i < CHILDREN; i++) {
            children[i] = new Skynet(first + i * part, part);
            if (i < CHILDREN - 1) {
                Forks.handed();
                children[i].fork();
            }
        }
        children[CHILDREN - 1].compute();
        // Backwards, as the children lie on the worker's own stack of tasks.
        for (int i = CHILDREN - 1; i >= 0; i--) {
            if (i < CHILDREN - 1) {
                children[i].join();
            }
            sum += children[i].sum;
            tasks += children[i].tasks;
        }
    }
}
