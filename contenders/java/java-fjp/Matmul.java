import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveAction;
import palio.Forks;
import palio.Iteration;
import palio.Request;
import palio.Work;
import work.Matrices;

/** The row matmul: of four calls three are forked, and the last one runs in place. */
final class Matmul extends RecursiveAction {
    private static final long serialVersionUID = 1;

    private final transient Matrices matrices;
    private final int cAt;
    private final int aAt;
    private final int bAt;
    private final int size;
    private long bases;

    /** Blocks of a side of `size` that start at these elements. */
    private Matmul(Matrices matrices, int cAt, int aAt, int bAt, int size) {
        this.matrices = matrices;
        this.cAt = cAt;
        this.aAt = aAt;
        this.bAt = bAt;
        this.size = size;
    }

    static Work prepare(Request request) {
        Matrices matrices = new Matrices(request);
        ForkJoinPool pool = Pool.maker(request).get();
        return Work.staged(new Work.Stages() {
            private long bases;

            @Override
            public void prepare() {
                matrices.clear();
            }

            @Override
            public void run() {
                Matmul root = new Matmul(matrices, 0, 0, 0, matrices.n);
                Forks.handed();
                pool.invoke(root);
                bases = root.bases;
            }

            @Override
            public Iteration finish() {
                return matrices.iteration(bases);
            }
        }).stoppedBy(pool::close).countingForks();
    }

    @Override
    protected void compute() {
        if (size == Matrices.BASE) {
            matrices.multiplyBase(cAt, aAt, bAt);
            bases = 1;
            return;
        }
        int right = size / 2;
        int below = right * matrices.n;
        four(
                quarter(0, 0, 0),
                quarter(right, 0, right),
                quarter(below, below, 0),
                quarter(below + right, below, right));
        four(
                quarter(0, right, below),
                quarter(right, right, below + right),
                quarter(below, below + right, below),
                quarter(below + right, below + right, below + right));
    }

    private Matmul quarter(int c, int a, int b) {
        return new Matmul(matrices, cAt + c, aAt + a, bAt + b, size / 2);
    }

    private void four(Matmul first, Matmul second, Matmul third, Matmul last) {
        Forks.handed();
        first.fork();
        Forks.handed();
        second.fork();
        Forks.handed();
        third.fork();
        last.compute();
        third.join();
        second.join();
        first.join();
        bases += first.bases + second.bases + third.bases + last.bases;
    }
}
