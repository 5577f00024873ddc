package work;

import palio.Request;
import palio.Salt;

/** The work of fan_out_compute and multi_thread_scaling: the weighed primes, task by task. */
public final class Primes {
    private final long limit;
    public final int tasks;

    public Primes(Request request) {
        // Beyond 2^31 a number would not fit what isPrime takes.
        limit = request.between("limit", 0, 1L << 31);
        tasks = request.count("tasks");
    }

    /** What task number `task` returns. */
    public long weigh(int task) {
        long sum = 0;
        for (long n = task; n < limit; n += tasks) {
            if (isPrime((int) n)) {
                sum += Salt.mixed(n);
            }
        }
        return sum;
    }

    /**
     * In 32 bits, which hold every number here. LLVM sees that in Rust's contenders as it divides, and
     * takes the shorter instruction, which is the faster one; Java takes what the type says.
     */
    private static boolean isPrime(int n) {
        if (n % 2 == 0 || n < 2) {
            return n == 2;
        }
        for (int divisor = 3; (long) divisor * divisor <= n; divisor += 2) {
            if (n % divisor == 0) {
                return false;
            }
        }
        return true;
    }
}
