import java.util.function.Function;
import palio.Iteration;
import palio.Request;
import palio.Work;
import work.Matrices;

/** A block of the row matmul; `Matmul` says how four of them are forked. */
abstract class MatmulTask implements Runnable {
    final Matrices matrices;
    final int cAt;
    final int aAt;
    final int bAt;
    final int size;
    long bases;

    /** Blocks of a side of `size` that start at these elements. */
    MatmulTask(Matrices matrices, int cAt, int aAt, int bAt, int size) {
        this.matrices = matrices;
        this.cAt = cAt;
        this.aAt = aAt;
        this.bAt = bAt;
        this.size = size;
    }

    /** `whole` makes the task of whole matrices. */
    static Work prepare(Request request, Function<Matrices, MatmulTask> whole) {
        Matrices matrices = new Matrices(request);
        return Work.staged(new Work.Stages() {
            private long bases;

            @Override
            public void prepare() {
                matrices.clear();
            }

            @Override
            public void run() {
                MatmulTask root = whole.apply(matrices);
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

    /** The task of blocks of half the side that start so far behind this one's. */
    abstract MatmulTask quarter(int c, int a, int b);

    /** Runs these, and adds up how many bases they multiplied. */
    abstract void four(MatmulTask first, MatmulTask second, MatmulTask third, MatmulTask last);
}
