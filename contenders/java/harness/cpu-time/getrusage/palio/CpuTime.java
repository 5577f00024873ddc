package palio;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** CPU time of the whole process, in µs, as `getrusage` says it. */
record CpuTime(long userUs, long sysUs) {
    private static final int RUSAGE_SELF = 0;

    /** More than a `struct rusage` takes: two times of two words each, and fourteen words. */
    private static final long RUSAGE_BYTES = 256;

    @SuppressWarnings("restricted")
    private static final MethodHandle GETRUSAGE = Linker.nativeLinker().downcallHandle(
            Linker.nativeLinker().defaultLookup().find("getrusage").orElseThrow(),
            FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.ADDRESS));

    private static final MemorySegment USAGE = Arena.global().allocate(RUSAGE_BYTES, Long.BYTES);

    static CpuTime now() {
        try {
            int failed = (int) GETRUSAGE.invokeExact(RUSAGE_SELF, USAGE);
            if (failed != 0) {
                throw new IllegalStateException("getrusage failed");
            }
        } catch (Throwable error) {
            throw new IllegalStateException("getrusage cannot be called", error);
        }
        return new CpuTime(us(0), us(2));
    }

    /** Two words of the structure: seconds, and µs beyond them. */
    private static long us(int word) {
        return USAGE.getAtIndex(ValueLayout.JAVA_LONG, word) * 1_000_000
                + USAGE.getAtIndex(ValueLayout.JAVA_LONG, word + 1);
    }

    static String text(CpuTime before, CpuTime after) {
        return " user_us=" + (after.userUs - before.userUs) + " sys_us=" + (after.sysUs - before.sysUs);
    }
}
