package palio;

import java.util.concurrent.atomic.LongAdder;

/**
 * The count of what is handed to the runtime.
 *
 * <p>Whether this process counts is known before this class is loaded, and never changes. So it is
 * a constant to the compiler, and nothing of the counter is left in a process that is timed.
 */
public final class Forks {
    private static final boolean COUNTED = Request.countsForks;
    private static final LongAdder HANDED = new LongAdder();

    private Forks() {}

    /** Stands beside each call of the runtime that another worker could take over. */
    public static void handed() {
        if (COUNTED) {
            HANDED.increment();
        }
    }

    static void handed(long forks) {
        HANDED.add(forks);
    }

    static long soFar() {
        return HANDED.sum();
    }
}
