import palio.Iteration;
import palio.Request;
import palio.Work;
import work.Matrices;

/** The row matmul: of four calls three are forked in a scope, and the last one runs in place. */
final class Matmul implements Runnable {
    private final Matrices matrices;
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
        return Work.staged(new Work.Stages() {
            private long bases;

            @Override
            public void prepare() {
                matrices.clear();
            }

            @Override
            public void run() {
                Matmul root = new Matmul(matrices, 0, 0, 0, matrices.n);
                Scheduler.join(Scheduler.fork(root));
                bases = root.bases;
            }

            @Override
            public Iteration finish() {
                return matrices.iteration(bases);
            }
        }).countingForks();
    }

    @Override
    public void run() {
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
        try (Scope scope = new Scope()) {
            scope.fork(first);
            scope.fork(second);
            scope.fork(third);
            last.run();
            scope.join();
        }
        bases += first.bases + second.bases + third.bases + last.bases;
    }
}
