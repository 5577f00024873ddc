package palio;

import java.util.Map;
import java.util.stream.Stream;

/** The workloads that check a harness: they use no runtime, and take any number of threads. */
final class Conformance extends Work {
    static final Map<String, Contender.Prepare> WORKLOADS = Map.of(
            "conformance", Conformance::of,
            "conformance/events", Conformance::of,
            "conformance/forks", Conformance::of,
            "conformance/salt", Conformance::salted);

    private final Done given;
    private final long[] events;
    private final long forks;

    private Conformance(Done given, long[] events, long forks) {
        this.given = given;
        this.events = events;
        this.forks = forks;
    }

    private static Work of(Request request) {
        String answer = request.text("answer");
        long ops = request.between("ops", 0, -1);
        String work = request.text("work");
        boolean counted = !work.equals("-");
        Done given = new Done(answer, ops, counted ? request.number("work", work) : 0, counted);
        return switch (request.workload()) {
            case "conformance/events" -> new Conformance(given, events(request), 0);
            case "conformance/forks" ->
                    new Conformance(given, new long[0], request.between("forks", 0, -1)).countingForks();
            default -> new Conformance(given, new long[0], 0);
        };
    }

    private static Work salted(Request request) {
        long answer = Salt.mixed(request.between("index", 0, -1));
        return Work.plain(() -> new Iteration(answer, 1, 1));
    }

    private static long[] events(Request request) {
        String text = request.text("events");
        try {
            return Stream.of(text.split(",", -1)).mapToLong(Numbers::parse).toArray();
        } catch (NumberFormatException error) {
            throw Refusal.misuse("--set events=" + text + " is no list of whole numbers");
        }
    }

    @Override
    void sample(int batch, Sums sums) {
        long start = System.nanoTime();
        for (int i = 0; i < batch; i++) {
            Forks.handed(forks);
            sums.add(given, 1);
            sums.addEvents(events);
        }
        sums.elapsedNs = System.nanoTime() - start;
    }
}
