package work;

import palio.Request;
import palio.Salt;

/** The work of fan_out_compute and multi_thread_scaling: the weighed primes, task by task. */
public final class Primes {
    private final long limit;
    public final int tasks;

    public Primes(Request request) {
        // Beyond 2^32 the square of a divisor could overflow.
        limit = request.between("limit", 0, 1L << 32);
        tasks = request.count("tasks");
    }

    /** What task number `task` returns. */
    public long weigh(int task) {
        long sum = 0;
        for (long n = task; n < limit; n += tasks) {
            if (isPrime(n)) {
                sum += Salt.mixed(n);
            }
        }
        return sum;
    }

    private static boolean isPrime(long n) {
        if (n % 2 == 0 || n < 2) {
            return n == 2;
        }
        for (long divisor = 3; divisor * divisor <= n; divisor += 2) {
            if (n % divisor == 0) {
                return false;
            }
        }
        return true;
    }
}
