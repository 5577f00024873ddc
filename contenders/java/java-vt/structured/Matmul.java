import palio.Request;
import palio.Work;
import work.Matrices;

/** The row matmul: of four calls three are forked in a scope, and the last one runs in place. */
final class Matmul extends MatmulTask {
    private Matmul(Matrices matrices, int cAt, int aAt, int bAt, int size) {
        super(matrices, cAt, aAt, bAt, size);
    }

    static Work prepare(Request request) {
        return prepare(request, matrices -> new Matmul(matrices, 0, 0, 0, matrices.n));
    }

    @Override
    MatmulTask quarter(int c, int a, int b) {
        return new Matmul(matrices, cAt + c, aAt + a, bAt + b, size / 2);
    }

    @Override
    void four(MatmulTask first, MatmulTask second, MatmulTask third, MatmulTask last) {
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
