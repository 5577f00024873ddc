package work;

import palio.Iteration;
import palio.Request;
import palio.Salt;

/** The numbers of held_out/quicksort, and what a task does without forks. */
public final class Sorting {
    /** How many numbers are sorted by insertion. */
    private static final int SMALL_PART = 16;

    /** Turned in a number without a sign, gives one whose order with a sign is the same. */
    private static final long SIGN = Long.MIN_VALUE;

    private final long[] unsorted;
    public final long[] sorted;
    public final int leaf;

    public Sorting(Request request) {
        int n = (int) request.between("n", 0, 1 << 30);
        leaf = (int) request.between("leaf", SMALL_PART, Integer.MAX_VALUE);
        unsorted = new long[n];
        sorted = new long[n];
        for (int i = 0; i < n; i++) {
            unsorted[i] = (Salt.mix(0, i) >>> 1) + (Salt.salt >>> 1) ^ SIGN;
        }
    }

    public void prepare() {
        System.arraycopy(unsorted, 0, sorted, 0, unsorted.length);
    }

    public Iteration iteration(long tasks) {
        long sum = 0;
        for (int i = 0; i < sorted.length; i++) {
            sum += (i + 1L) * (sorted[i] ^ SIGN);
        }
        return new Iteration(sum, sorted.length, tasks);
    }

    /** Sorts a part, from `from` to before `to`, in the way of a task that forks no more. */
    public void sortHere(int from, int to) {
        while (to - from > SMALL_PART) {
            int middle = partition(from, to);
            sortHere(from, middle);
            from = middle;
        }
        for (int end = from + 1; end < to; end++) {
            long number = sorted[end];
            int at = end;
            for (; at > from && sorted[at - 1] > number; at--) {
                sorted[at] = sorted[at - 1];
            }
            sorted[at] = number;
        }
    }

    /** Hoare's partition, around the median of the first, the middle and the last. */
    public int partition(int from, int to) {
        long first = sorted[from];
        long middle = sorted[from + (to - from) / 2];
        long last = sorted[to - 1];
        long pivot =
                Math.max(Math.min(first, middle), Math.min(Math.max(first, middle), last));
        int left = from;
        int right = to - 1;
        while (true) {
            while (sorted[left] < pivot) {
                left++;
            }
            while (sorted[right] > pivot) {
                right--;
            }
            if (left >= right) {
                return right + 1;
            }
            long number = sorted[left];
            sorted[left++] = sorted[right];
            sorted[right--] = number;
        }
    }
}
