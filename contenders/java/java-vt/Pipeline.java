import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import palio.Iteration;
import palio.Request;
import palio.Salt;
import palio.Work;
import work.Mixing;

/** The row held_out/pipeline: stages with bounded queues between them. */
final class Pipeline {
    /** The steps that each stage takes for a value. */
    private static final int[] STEPS = {1, 32, 4, 128, 8};

    private Pipeline() {}

    static Work prepare(Request request) {
        int values = (int) request.between("values", 0, Integer.MAX_VALUE);
        int room = request.count("room");
        return Scheduler.rooted(executor -> run(executor, values, room));
    }

    private static Iteration run(ExecutorService executor, int values, int room) {
        BlockingQueue<Long> source = new ArrayBlockingQueue<>(room);
        executor.submit(() -> {
            for (int i = 0; i < values; i++) {
                source.put(Salt.salt + i);
            }
            return null;
        });
        BlockingQueue<Long> from = source;
        Future<?>[] stages = new Future<?>[STEPS.length];
        long[] received = new long[STEPS.length];
        for (int k = 0; k < STEPS.length; k++) {
            int stage = k;
            BlockingQueue<Long> inbox = from;
            BlockingQueue<Long> to = new ArrayBlockingQueue<>(room);
            // Queues cannot be closed: every stage knows how many values come.
            stages[k] = executor.submit(() -> {
                long count = 0;
                for (int i = 0; i < values; i++) {
                    to.put(Mixing.grind(inbox.take(), stage, STEPS[stage]));
                    count++;
                }
                received[stage] = count;
                return null;
            });
            from = to;
        }
        long sum = 0;
        long ops = 0;
        for (int i = 0; i < values; i++) {
            sum += work.Bell.take(from);
            ops++;
        }
        long work = ops;
        for (int stage = 0; stage < STEPS.length; stage++) {
            Scheduler.get(stages[stage]);
            work += received[stage];
        }
        return new Iteration(sum, ops, work);
    }
}
