package palio;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Tests of the harness: plays the shared vectors, and what they leave out. */
final class HarnessTest {
    private static int passed;
    private static final List<String> FAILURES = new ArrayList<>();

    /** Long beside the rest of a session, so that a clock that runs meanwhile is found out. */
    private static final long PREPARATION_NS = 50_000_000;

    private final List<String> happened = new ArrayList<>();
    private long preparedNs;

    private HarnessTest() {}

    /** What a contender said, and how it ended. */
    private record Played(int status, List<String> lines, String errors) {}

    private interface Test {
        void run() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        List<Map<String, Object>> vectors = Vectors.read(Path.of(args[0]));
        for (Map<String, Object> vector : vectors) {
            test("vector: " + vector.get("name"), () -> playVector(vector));
        }
        test("there are vectors", () -> check(vectors.size() >= 20, vectors.size()));
        test("a description", () -> new HarnessTest().describes());
        test("a description stands alone", () -> refused(2, "--describe", "--describe", "--salt"));
        test("too many digits", () -> refused(2, "n=18446744073709551616", count("n=18446744073709551616")));
        test("a plus sign", () -> refused(2, "n=+1", count("n=+1")));
        test("digits of another script", () -> refused(2, "n=٣", count("n=٣")));
        test("0 where 1 is the least", () -> refused(2, "n=0", count("n=0")));
        test("a word that is no choice", () -> refused(2, "middle", args("pick", "reader=middle")));
        test("knobs have defaults, and can be turned", () -> new HarnessTest().turnsKnobs());
        test("the runtime stops after the last sample", () -> new HarnessTest().stops());
        test("the runtime stops when a command is refused", () -> new HarnessTest().stopsRefused());
        test("a command that is no UTF-8", HarnessTest::refusesBytes);
        test("answers that differ within a batch", () -> new HarnessTest().tellsDifferences());
        test("a batch that is done as a whole", () -> new HarnessTest().sumsUpBatches());
        test("each iteration that is served is announced", () -> new HarnessTest().announces());
        test("only the work is timed", () -> new HarnessTest().timesOnlyWork());
        FAILURES.forEach(failure -> System.out.println("failed: " + failure));
        System.out.println(passed + " passed, " + FAILURES.size() + " failed");
        System.exit(FAILURES.isEmpty() ? 0 : 1);
    }

    private static void test(String name, Test test) {
        try {
            test.run();
            passed++;
        } catch (Exception | AssertionError error) {
            FAILURES.add(name + ": " + error);
        }
    }

    private static void check(boolean holds, Object seen) {
        if (!holds) {
            throw new AssertionError("seen: " + seen);
        }
    }

    @SuppressWarnings("unchecked")
    private static void playVector(Map<String, Object> vector) throws Exception {
        String[] args = ((List<String>) vector.get("args")).toArray(String[]::new);
        byte[] input = ((String) vector.get("stdin")).getBytes(StandardCharsets.UTF_8);
        Played played = new HarnessTest().play(input, args);
        check(played.status == Integer.parseInt((String) vector.get("status")), played);
        check(played.errors.contains((String) vector.getOrDefault("stderr", "")), played);
        check((played.status == 0) == played.errors.isEmpty(), played);
        List<String> patterns = (List<String>) vector.get("stdout");
        check(patterns.size() == played.lines.size(), played);
        for (int i = 0; i < patterns.size(); i++) {
            check(matches(patterns.get(i), played.lines.get(i)), played);
        }
    }

    /** In a vector, `#` is a number of at least 1, and `?` a number or a dash. */
    private static boolean matches(String pattern, String line) {
        String expression = Pattern.quote(pattern)
                .replace("#", "\\E[1-9][0-9]*\\Q").replace("?", "\\E(-|[0-9]+)\\Q");
        return line.matches(expression);
    }

    private static String[] args(String workload, String... settings) {
        return Stream.concat(
                Stream.of("--workload", workload, "--threads", "1", "--salt", "7"),
                Stream.of(settings).flatMap(setting -> Stream.of("--set", setting)))
                .toArray(String[]::new);
    }

    private static String[] count(String... settings) {
        return args("count", settings);
    }

    private Played play(byte[] input, String... args) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        int status = Harness.serve(
                recorder(), args, new ByteArrayInputStream(input),
                new PrintStream(out, false, StandardCharsets.UTF_8),
                new PrintStream(err, true, StandardCharsets.UTF_8));
        List<String> lines = out.toString(StandardCharsets.UTF_8).lines().toList();
        return new Played(status, lines, err.toString(StandardCharsets.UTF_8));
    }

    private Played play(String input, String... args) throws Exception {
        return play(input.getBytes(StandardCharsets.UTF_8), args);
    }

    /** A contender that writes down what happens to it. */
    private Contender recorder() {
        return new Contender(
                "recorder",
                "none 1",
                "-",
                Map.of("count", this::counting, "pick", HarnessTest::picking,
                        "change", HarnessTest::changing, "stages", this::staging,
                        "together", this::together,
                        "serve", request -> Work.serving(4711, () -> Iteration.of(1))),
                Map.of("spin", "61"));
    }

    private Work counting(Request request) {
        int n = request.count("n");
        happened.add("start n=" + n + " spin=" + request.knob("spin", "61"));
        return Work.plain(() -> new Iteration(n, n, 2L * n)).stoppedBy(() -> happened.add("stop"));
    }

    private static Work picking(Request request) {
        request.oneOf("reader", "first", "last");
        return Work.plain(() -> Iteration.of(1));
    }

    private static Work changing(Request request) {
        Iterator<Long> answers = List.of(5L, 5L, 6L, 7L).iterator();
        return Work.plain(() -> new Iteration(answers.next(), 1, 1));
    }

    private Work together(Request request) {
        Iterator<Long> answers = List.of(5L, 5L, 5L, 6L, 7L).iterator();
        return Work.batched(batch -> {
            happened.add("batch of " + batch);
            spin();
            Iterations done = Iterations.start();
            for (int i = 0; i < batch; i++) {
                done.add(new Iteration(answers.next(), 2, 3));
            }
            done.stop();
            spin();
            return done;
        });
    }

    /** What must not be timed. */
    private void spin() {
        long start = System.nanoTime();
        while (System.nanoTime() - start < PREPARATION_NS) {
            Thread.onSpinWait();
        }
        preparedNs += System.nanoTime() - start;
    }

    private Work staging(Request request) {
        return Work.staged(new Work.Stages() {
            @Override
            public void prepare() {
                happened.add("prepare");
                spin();
            }

            @Override
            public void run() {
                happened.add("run");
            }

            @Override
            public Iteration finish() {
                happened.add("finish");
                return Iteration.of(3);
            }
        });
    }

    private static void refused(int status, String reason, String... args) throws Exception {
        HarnessTest test = new HarnessTest();
        Played played = test.play("run 1\n", args);
        check(played.status == status && played.lines.isEmpty(), played);
        check(played.errors.contains(reason), played);
        check(!test.happened.contains("start"), test.happened);
    }

    private void describes() throws Exception {
        Played played = play("", "--describe");
        check(played.status == 0, played);
        check(played.lines.subList(0, 3).equals(List.of("protocol 2", "id recorder", "runtime none 1")), played);
        check(played.lines.contains("workload change") && played.lines.contains("knob spin 61"), played);
    }

    private void turnsKnobs() throws Exception {
        play("", count("n=1"));
        play("", count("spin=7", "n=1"));
        check(happened.equals(List.of("start n=1 spin=61", "stop", "start n=1 spin=7", "stop")), happened);
    }

    private void stops() throws Exception {
        Played played = play("run 1\r\nrun 1 2\nquit\nrun 1\n", count("n=3"));
        check(played.status == 0 && played.lines.size() == 4, played);
        check(played.lines.get(2).contains(" ops=6 answer=3 work=12 "), played);
        check(happened.equals(List.of("start n=3 spin=61", "stop")), happened);
    }

    private void stopsRefused() throws Exception {
        Played played = play("run 1\nquit now\n", count("n=3"));
        check(played.status == 2 && played.errors.contains("quit now"), played);
        check(happened.get(happened.size() - 1).equals("stop"), happened);
    }

    private static void refusesBytes() throws Exception {
        Played played = new HarnessTest().play(new byte[] {'r', 'u', 'n', ' ', (byte) 0xFF, '\n'}, count("n=3"));
        check(played.status == 2 && played.errors.contains("UTF-8"), played);
    }

    private void tellsDifferences() throws Exception {
        Played played = play("run 1 4\n", args("change"));
        check(played.lines.get(0).contains(" answer=differs:5:6 "), played);
    }

    /** Nor can the way to a batch and back. */
    private void sumsUpBatches() throws Exception {
        long start = System.nanoTime();
        Played played = play("run 1 2\nrun 1 3\n", args("together"));
        long sessionNs = System.nanoTime() - start;
        long elapsed = elapsedNs(played.lines.get(0)) + elapsedNs(played.lines.get(2));
        check(elapsed <= sessionNs - preparedNs, elapsed);
        check(happened.equals(List.of("batch of 2", "batch of 3")), happened);
        check(played.lines.get(0).contains(" ops=4 answer=5 work=6 "), played);
        check(played.lines.get(2).contains(" ops=6 answer=differs:5:6 work=9 "), played);
    }

    private void announces() throws Exception {
        Played played = play("run 2 2\n", args("serve"));
        List<String> kinds = played.lines.stream().map(line -> line.replaceAll("^sample .*", "sample")).toList();
        String serving = "serving 4711";
        check(kinds.equals(List.of(serving, serving, "sample", serving, serving, "sample", "done 2")), played);
        check(played.lines.get(2).contains(" ops=2 answer=1 work=2 "), played);
    }

    /** What was prepared cannot have been timed if the rest of the session was no shorter. */
    private void timesOnlyWork() throws Exception {
        long start = System.nanoTime();
        Played played = play("run 1 2\n", args("stages"));
        long sessionNs = System.nanoTime() - start;
        check(happened.equals(List.of("prepare", "run", "finish", "prepare", "run", "finish")), happened);
        long elapsed = elapsedNs(played.lines.get(0));
        check(elapsed <= sessionNs - preparedNs, elapsed);
    }

    private static long elapsedNs(String sample) {
        return Long.parseLong(sample.replaceAll(".*elapsed_ns=(\\d+).*", "$1"));
    }
}
