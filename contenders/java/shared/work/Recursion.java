package work;

import palio.Iteration;
import palio.Request;
import palio.Salt;

/** The calls of deep_recursion. */
public final class Recursion {
    private final int depth;

    public Recursion(Request request) {
        depth = request.count("depth");
    }

    /** A plain call that adds one to what it gets back; Java makes no loops of calls. */
    public long call() {
        return descend(1);
    }

    private long descend(int level) {
        return level == depth ? 1 + Salt.salt : 1 + descend(level + 1);
    }

    public Iteration iteration(long reached) {
        long calls = reached - Salt.salt;
        return new Iteration(reached, calls, calls);
    }
}
