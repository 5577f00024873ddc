package palio;

/**
 * What the iterations of a batch did, and how long they took: the first of them stands for all, and
 * one that differs from it, if any does. Comparing is all that happens between two iterations; the
 * sums are made when the clock has stopped.
 */
public final class Iterations {
    private final long start;
    private long elapsedNs = -1;
    private Iteration first;
    private Iteration odd;
    private int count;

    private Iterations(long start) {
        this.start = start;
    }

    /** Reads the clock: the first iteration is about to begin. */
    public static Iterations start() {
        return new Iterations(System.nanoTime());
    }

    /** Reads the clock again: the last iteration has just ended. */
    public Iterations stop() {
        elapsedNs = System.nanoTime() - start;
        return this;
    }

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
        if (elapsedNs < 0) {
            throw new IllegalStateException("the clock of a batch was not stopped");
        }
        sums.elapsedNs = elapsedNs;
        if (count == 0) {
            return;
        }
        sums.add(Done.of(first), count - 1);
        sums.add(Done.of(odd == null ? first : odd), 1);
    }
}
