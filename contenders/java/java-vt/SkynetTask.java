import java.util.function.LongFunction;
import palio.Iteration;
import palio.Refusal;
import palio.Request;
import palio.Salt;
import palio.Work;

/** A task of the row skynet; `Skynet` says how it forks its children. */
abstract class SkynetTask implements Runnable {
    static final int CHILDREN = 10;

    final long first;
    final long size;
    long sum;
    long tasks = 1;

    SkynetTask(long first, long size) {
        this.first = first;
        this.size = size;
    }

    /** `root` makes the task of so many leaves whose first number is the salt. */
    static Work prepare(Request request, LongFunction<SkynetTask> root) {
        long leaves = request.between("leaves", 1, 1_000_000_000);
        for (long size = leaves; size > 1; size /= CHILDREN) {
            if (size % CHILDREN != 0) {
                throw Refusal.misuse("--set leaves=" + leaves + " is not a power of ten");
            }
        }
        return Work.plain(() -> {
            SkynetTask task = root.apply(leaves);
            Scheduler.join(Scheduler.fork(task));
            return new Iteration(task.sum, task.tasks, task.tasks);
        }).countingForks();
    }
}
