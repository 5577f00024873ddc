package work;

import palio.Refusal;
import palio.Request;
import palio.Salt;

/** The tree of held_out/unbalanced_tree. */
public final class Tree {
    public final long seed;
    public final int roots;
    private final int branches;
    private final long chance;

    public Tree(Request request) {
        seed = request.between("seed", 0, -1);
        roots = (int) request.between("roots", 0, Integer.MAX_VALUE);
        branches = (int) request.between("branches", 0, Integer.MAX_VALUE);
        chance = request.between("chance", 0, 10_000);
        if (branches * chance >= 10_000) {
            throw Refusal.misuse(
                    "--set branches=" + branches + " and chance=" + chance + ": the tree may have no end");
        }
    }

    /** How many children a node has that is not the root. */
    public int children(long node) {
        return Long.remainderUnsigned(Salt.mix(node, 0), 10_000) < chance ? branches : 0;
    }

    public static long child(long node, int index) {
        return Salt.mix(node, index + 1L);
    }

    public static long weight(long node) {
        return Salt.mixed(node);
    }
}
