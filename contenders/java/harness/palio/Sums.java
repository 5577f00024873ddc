package palio;

import java.util.Arrays;

/** What the iterations of one batch did together, all of which must have the same answer. */
final class Sums {
    long elapsedNs;
    private String answer;
    private String other;
    private long ops;
    private long work;
    private boolean counted = true;
    private long[] events = {};
    private int eventCount;

    /** Counts the same iteration so many times. */
    void add(Done more, int times) {
        if (times == 0) {
            return;
        }
        if (answer == null) {
            answer = more.answer();
        } else if (other == null && !answer.equals(more.answer())) {
            other = more.answer();
        }
        ops += more.ops() * times;
        work += more.work() * times;
        counted &= more.counted();
    }

    /** Adds events, each of which took so many ns. */
    void addEvents(long[] took) {
        if (eventCount + took.length > events.length) {
            events = Arrays.copyOf(events, Math.max(2 * events.length, eventCount + took.length));
        }
        System.arraycopy(took, 0, events, eventCount, took.length);
        eventCount += took.length;
    }

    /** The part of a sample's line before the CPU time. */
    @Override
    public String toString() {
        // At least 1, as the contract says: a clock that did not advance has measured no 0.
        return "elapsed_ns=" + Math.max(elapsedNs, 1)
                + " ops=" + Long.toUnsignedString(ops)
                + " answer=" + (other == null ? answer : "differs:" + answer + ":" + other)
                + " work=" + (counted ? Long.toUnsignedString(work) : "-");
    }

    /**
     * The end of a sample's line: the distribution, by nearest rank, or nothing without events. An
     * event of 0 ns counts as 1 ns: it was shorter than the clock can tell.
     */
    String distribution() {
        if (eventCount == 0) {
            return "";
        }
        // The smallest long comes first in order, which is the largest number without a sign: so
        // all are shifted by half of the range while they are sorted.
        long[] ranked = Arrays.copyOf(events, eventCount);
        Arrays.setAll(ranked, i -> ranked[i] ^ Long.MIN_VALUE);
        Arrays.sort(ranked);
        return " events=" + eventCount
                + " p50_ns=" + ranked(ranked, 500)
                + " p99_ns=" + ranked(ranked, 990)
                + " p999_ns=" + ranked(ranked, 999)
                + " max_ns=" + ranked(ranked, 1000);
    }

    private static String ranked(long[] ranked, long perMille) {
        int rank = (int) Math.max((ranked.length * perMille + 999) / 1000, 1);
        long event = ranked[rank - 1] ^ Long.MIN_VALUE;
        return Long.toUnsignedString(event == 0 ? 1 : event);
    }
}
