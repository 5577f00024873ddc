package palio;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.stream.Stream;

/** Tests how many threads the rows of java-vt make, by the numbers that threads have. */
final class RootsTest {
    /** The Java machine makes threads of its own: far fewer than this. */
    private static final int BATCH = 1000;

    private static final String CONTENTION = "producers=4 messages=1";
    private static final String SEMAPHORE = "tasks=6 permits=5";

    private static int passed;
    private static int failed;

    private RootsTest() {}

    public static void main(String[] args) throws Exception {
        // Beside tasks, a sample whose iterations are in one root makes a thread or none.
        for (String root : new String[] {"root=worker", "root=outside"}) {
            test("fan_in", "senders=1 buffer=1 reader=last " + root, 0, 1, 1);
            test("native_sync/mpsc_contention", CONTENTION + " " + root, 6, 4, 4);
            test("native_sync/mpsc_uncontended", "messages=1 " + root, 0, 1, 0);
            test("native_sync/request_reply", "requests=1 " + root, 1, 1, 0);
            test("native_sync/semaphore_contention", SEMAPHORE + " " + root, 6, 6, 6);
            test("native_sync/semaphore_uncontended", SEMAPHORE + " " + root, 6, 6, 6);
        }
        // In the document's rows, an iteration has a root, and it a task where a task does it all.
        test("sync_mpsc/contention", CONTENTION + " root=worker", 6, 4, 5);
        test("sync_mpsc/uncontended", "messages=1 root=worker", 0, 1, 2);
        test("sync_mpsc_oneshot/request_reply", "requests=1 root=worker", 1, 1, 2);
        test("sync_semaphore/contention", SEMAPHORE + " root=worker", 6, 6, 7);
        test("sync_semaphore/uncontended", SEMAPHORE + " root=worker", 6, 6, 7);
        // The root is a thread, and so are all children of a task but the last.
        test("skynet", "leaves=100", 4950, 111, 1 + 99);
        test("nqueens", "n=3", 0, 5, 1 + 2);
        test("held_out/unbalanced_tree", "seed=1 roots=10 branches=4 chance=0", -8092052496323376749L, 11, 1 + 9);
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed == 0 ? 0 : 1);
    }

    /** Takes a sample of a row; what an iteration is to answer, to do, and to make of threads. */
    private static void test(String row, String settings, long answer, int work, int threads)
            throws Exception {
        String[] args = Stream.concat(
                Stream.of("--workload", row, "--threads", "2", "--salt", "0"),
                Stream.of(settings.split(" ")).flatMap(setting -> Stream.of("--set", setting)))
                .toArray(String[]::new);
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(said, false, StandardCharsets.UTF_8);
        byte[] input = ("run 1 " + BATCH + "\nquit\n").getBytes(StandardCharsets.UTF_8);
        long before = nextNumber();
        Harness.serve(javaVt(), args, new ByteArrayInputStream(input), out, out);
        double made = (nextNumber() - before - 1) / (double) BATCH;
        String line = said.toString(StandardCharsets.UTF_8).lines().findFirst().orElse("");
        int all = BATCH * work;
        boolean right = line.contains(" ops=" + all + " answer=" + Long.toUnsignedString(answer) + " work=" + all + " ");
        if (right && Math.round(made) == threads) {
            passed++;
            return;
        }
        failed++;
        System.out.println("failed: " + row + " " + settings + ": " + made + " threads an iteration, not "
                + threads + ": " + line);
    }

    /** The number of a thread that is made for this. */
    private static long nextNumber() {
        return new Thread().threadId();
    }

    @SuppressWarnings("unchecked")
    private static Contender javaVt() throws Exception {
        // A class without a package cannot be named from one.
        Field rows = Class.forName("Main").getDeclaredField("WORKLOADS");
        rows.setAccessible(true);
        return new Contender("test", "none", "none", (Map<String, Contender.Prepare>) rows.get(null), Map.of());
    }
}
