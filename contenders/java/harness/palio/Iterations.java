package palio;

/**
 * What the iterations of a batch did: the first of them stands for all, and one that differs from
 * it, if any does. Comparing is all that happens between two iterations; the sums are made when the
 * clock has stopped.
 */
public final class Iterations {
    private Iteration first;
    private Iteration odd;
    private int count;

    /** Counts one more. */
    public void add(Iteration next) {
        if (first == null) {
            first = next;
        } else if (odd == null && !next.equals(first)) {
            odd = next;
        }
        count++;
    }

    void addTo(Sums sums) {
        if (count == 0) {
            return;
        }
        sums.add(Done.of(first), count - 1);
        sums.add(Done.of(odd == null ? first : odd), 1);
    }
}
