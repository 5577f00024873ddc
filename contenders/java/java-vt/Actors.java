import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import palio.Iteration;
import palio.Request;
import palio.Salt;
import palio.Work;
import work.Bell;

/** The row held_out/broadcast: a tree of actors, each with an inbox. */
final class Actors {
    private static final int CHILDREN = 2;

    private final ExecutorService executor;
    private final int rounds;
    private final List<Future<Long>> handles = new ArrayList<>();

    private Actors(ExecutorService executor, int rounds) {
        this.executor = executor;
        this.rounds = rounds;
    }

    static Work prepare(Request request) {
        int levels = (int) request.between("levels", 1, 24);
        int rounds = (int) request.between("rounds", 0, Integer.MAX_VALUE);
        return Scheduler.rooted(executor -> new Actors(executor, rounds).run(levels));
    }

    private Iteration run(int levels) {
        BlockingQueue<Long> own = new LinkedBlockingQueue<>();
        BlockingQueue<Long> top = spawn(levels, own);
        long sum = 0;
        long ops = 0;
        for (int round = 0; round < rounds; round++) {
            top.add(Salt.mixed(round));
            sum += Bell.take(own);
            ops++;
        }
        long received = ops;
        for (Future<Long> handle : handles) {
            received += Scheduler.get(handle);
        }
        return new Iteration(sum, ops, received);
    }

    /** Starts an actor and all below it; returns its inbox. */
    private BlockingQueue<Long> spawn(int levels, BlockingQueue<Long> parent) {
        BlockingQueue<Long> inbox = new LinkedBlockingQueue<>();
        List<BlockingQueue<Long>> children = new ArrayList<>();
        for (int i = 0; levels > 1 && i < CHILDREN; i++) {
            children.add(spawn(levels - 1, inbox));
        }
        handles.add(executor.submit(() -> act(inbox, parent, children)));
        return inbox;
    }

    /**
     * Answers every value that comes down, and returns how many messages it got. A parent waits for
     * the answer before it sends again, so that nothing but answers comes between.
     */
    private long act(BlockingQueue<Long> inbox, BlockingQueue<Long> parent, List<BlockingQueue<Long>> children) {
        long received = 0;
        for (int round = 0; round < rounds; round++) {
            long value = Bell.take(inbox);
            received++;
            long sum = children.isEmpty() ? value : 0;
            for (int i = 0; i < children.size(); i++) {
                children.get(i).add(Salt.mix(value, i + 1));
            }
            for (int i = 0; i < children.size(); i++) {
                sum += Bell.take(inbox);
                received++;
            }
            parent.add(sum);
        }
        return received;
    }
}
