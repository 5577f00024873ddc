import java.util.concurrent.RecursiveAction;
import palio.Iteration;
import palio.Request;
import palio.Work;
import work.Tree;

/** The row held_out/unbalanced_tree: all children but the last are forked. */
final class UnbalancedTree extends RecursiveAction {
    private static final long serialVersionUID = 1;

    private final transient Tree tree;
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
        return Pool.steady(request, pool -> {
            UnbalancedTree root = new UnbalancedTree(tree, tree.seed, tree.roots);
            pool.invoke(root);
            return new Iteration(root.sum, root.nodes, root.nodes);
        });
    }

    @Override
    protected void compute() {
        sum = Tree.weight(node);
        if (children == 0) {
            return;
        }
        UnbalancedTree[] forked = new UnbalancedTree[children];
        for (int i = 0; i < children; i++) {
            long child = Tree.child(node, i);
            forked[i] = new UnbalancedTree(tree, child, tree.children(child));
            if (i < children - 1) {
                forked[i].fork();
            }
        }
        forked[children - 1].compute();
        for (int i = children - 1; i >= 0; i--) {
            if (i < children - 1) {
                forked[i].join();
            }
            sum += forked[i].sum;
            nodes += forked[i].nodes;
        }
    }
}
