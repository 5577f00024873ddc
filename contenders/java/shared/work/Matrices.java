package work;

import java.util.Arrays;
import palio.Iteration;
import palio.Refusal;
import palio.Request;
import palio.Salt;

/** The matrices of the row matmul, row by row, and the base case of their multiplication. */
public final class Matrices {
    /** The side of the blocks that are multiplied in place. */
    public static final int BASE = 32;

    public final int n;
    public final int[] a;
    public final int[] b;
    public final int[] c;

    public Matrices(Request request) {
        n = (int) request.between("n", BASE, 1 << 14);
        if (Integer.bitCount(n) != 1) {
            throw Refusal.misuse("--set n=" + n + " is not a power of two");
        }
        a = new int[n * n];
        b = new int[n * n];
        c = new int[n * n];
        for (int at = 0; at < n * n; at++) {
            a[at] = (int) Long.remainderUnsigned(Salt.mixed(at), 5);
            // Its elements are numbered on from those of a.
            b[at] = (int) Long.remainderUnsigned(Salt.mixed((long) n * n + at), 7);
        }
    }

    public void clear() {
        Arrays.fill(c, 0);
    }

    /** The sum over the product that the definition asks for. */
    public Iteration iteration(long bases) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                sum += (long) c[i * n + j] * (1 + (i + 3 * j) % 11);
            }
        }
        return new Iteration(sum, bases, bases);
    }

    /** The plain triple loop over blocks that start at these elements. */
    public void multiplyBase(int cAt, int aAt, int bAt) {
        for (int i = 0; i < BASE; i++) {
            for (int k = 0; k < BASE; k++) {
                addRow(c, cAt + i * n, b, bAt + k * n, a[aAt + i * n + k]);
            }
        }
    }

    /** A method of its own, which the compiler turns into vector code. */
    private static void addRow(int[] c, int cAt, int[] b, int bAt, int factor) {
        for (int j = 0; j < BASE; j++) {
            c[cAt + j] += factor * b[bAt + j];
        }
    }
}
