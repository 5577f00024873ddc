package work;

import palio.Iteration;
import palio.Request;
import palio.Salt;

/**
 * What the row fib packs into one number of 64 bits: in an argument, n in the low half and the salt
 * in the high one; in what is returned, the value in the low half and the forks in the high one.
 */
public final class Fibonacci {
    /** One fork in the high half. */
    public static final long FORK = 1L << 32;

    private final long argument;
    private final int evenSalt;

    public Fibonacci(Request request) {
        // fib(47) has more forks than the high half can hold.
        int n = (int) request.between("n", 0, 46);
        // Even, so that the forks can be told from it.
        evenSalt = (int) Salt.salt & ~1;
        argument = ((long) evenSalt << 32) + n;
    }

    /** The argument of the root's call. */
    public long argument() {
        return argument;
    }

    /** Whether a call forks no more. */
    public static boolean isLeaf(long argument) {
        return Integer.compareUnsigned((int) argument, 2) < 0;
    }

    /** What the root's number says. */
    public Iteration iteration(long result) {
        long forks = Integer.toUnsignedLong(forks((int) (result >>> 32), evenSalt));
        return new Iteration(result, forks, forks);
    }

    /**
     * The f of f + salt * (f + 1) modulo 2^32: the salt came once from each leaf, of which there is
     * one more than forks.
     */
    private static int forks(int upper, int salt) {
        int factor = salt + 1;
        // Newton's iteration for the inverse of an odd number, which has 3 right bits to begin with
        // and twice as many after each step.
        int inverse = factor;
        for (int bits = 3; bits < 32; bits *= 2) {
            inverse *= 2 - factor * inverse;
        }
        return (upper - salt) * inverse;
    }
}
