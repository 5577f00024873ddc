import palio.Iteration;
import palio.Request;
import palio.Work;
import work.Tree;

/** The row held_out/unbalanced_tree: every child of a node is a thread but the last, which runs in place. */
final class UnbalancedTree implements Runnable {
    private final Tree tree;
    private final long node;
    private final int children;
    private long sum;
    private long nodes = 1;

    private UnbalancedTree(Tree tree, long node, int children) {
        this.tree = tree;
        this.node = node;
        this.children = children;
    }

    static Work prepare(Request request) {
        Tree tree = new Tree(request);
        return Work.plain(() -> {
            UnbalancedTree root = new UnbalancedTree(tree, tree.seed, tree.roots);
            Scheduler.join(Scheduler.fork(root));
            return new Iteration(root.sum, root.nodes, root.nodes);
        });
    }

    @Override
    public void run() {
        sum = Tree.weight(node);
        if (children == 0) {
            return;
        }
        UnbalancedTree[] below = new UnbalancedTree[children];
        Thread[] threads = new Thread[children - 1];
        for (int i = 0; i < children; i++) {
            long child = Tree.child(node, i);
            below[i] = new UnbalancedTree(tree, child, tree.children(child));
            if (i < threads.length) {
                threads[i] = Scheduler.fork(below[i]);
            }
        }
        below[threads.length].run();
        for (Thread thread : threads) {
            Scheduler.join(thread);
        }
        for (UnbalancedTree child : below) {
            sum += child.sum;
            nodes += child.nodes;
        }
    }
}
