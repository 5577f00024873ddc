package palio;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The bound of how many files a process may have open. */
public final class Descriptors {
    /** How many a process may have open beside its connections. */
    private static final long BESIDE = 64;

    private Descriptors() {}

    /**
     * Refuses more connections, of two descriptors each, than the hard limit allows. The Java
     * machine itself raises the soft limit to the hard one when it starts.
     */
    public static void refuseTooMany(int connections) {
        long wanted = 2L * connections + BESIDE;
        long limit = hardLimit();
        if (limit < wanted) {
            throw Refusal.unsupported(
                    wanted + " open files are wanted, and the hard limit is " + limit + ": ulimit -Hn");
        }
    }

    /** As Linux says it; where nothing says it, the error of a socket will. */
    private static long hardLimit() {
        try {
            List<String> limits = Files.readAllLines(Path.of("/proc/self/limits"));
            for (String line : limits) {
                if (line.startsWith("Max open files")) {
                    String[] words = line.strip().split("\\s+");
                    String hard = words[words.length - 2];
                    return hard.equals("unlimited") ? Long.MAX_VALUE : Long.parseLong(hard);
                }
            }
        } catch (IOException error) {
            // There is no such file on other systems.
        }
        return Long.MAX_VALUE;
    }
}
