package palio;

/**
 * CPU time of the whole process, where Java cannot call `getrusage` (before release 22).
 *
 * <p>What Java knows itself is the sum of user and system time in ticks of 10 ms, too coarse for a
 * sample of a few milliseconds. The contract has a word for what is not known.
 */
record CpuTime() {
    static CpuTime now() {
        return new CpuTime();
    }

    static String text(CpuTime before, CpuTime after) {
        return " user_us=- sys_us=-";
    }
}
