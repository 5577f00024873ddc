package palio;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** The contract of docs/protocol.md for contenders in Java: a `main` is one call of `run`. */
public final class Harness {
    /** What a shell says of an abort. */
    private static final int CRASHED = 134;

    private Harness() {}

    /** Speaks the contract on the standard streams, and ends the process. */
    public static void run(Contender contender, String[] args) {
        // The contract is in UTF-8 and in lines that end in \n, whatever the locale prefers.
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        PrintStream err = new PrintStream(System.err, true, StandardCharsets.UTF_8);
        // A thread that dies, for want of memory above all, must not leave a hole in the answer.
        Thread.setDefaultUncaughtExceptionHandler((thread, cause) -> crash(cause));
        int status;
        try {
            status = serve(contender, args, System.in, out, err);
        } catch (Throwable cause) {
            crash(cause);
            return;
        }
        out.flush();
        System.exit(status);
    }

    /** Ends the process at once, with a status that is no refusal. From any thread. */
    public static void crash(Throwable cause) {
        cause.printStackTrace(System.err);
        Runtime.getRuntime().halt(CRASHED);
    }

    static int serve(
            Contender contender, String[] args, InputStream in, PrintStream out, PrintStream err)
            throws IOException {
        try {
            if (args.length > 0 && args[0].equals("--describe")) {
                if (args.length > 1) {
                    throw Refusal.misuse("--describe stands alone");
                }
                contender.describe(out);
                out.flush();
                return 0;
            }
            try (Work work = contender.prepare(Request.parse(args))) {
                work.announcedBy(port -> say(out, "serving " + port));
                obey(work, new BufferedInputStream(in), out);
            }
            return 0;
        } catch (Refusal refusal) {
            err.println(contender.id() + ": " + refusal.getMessage());
            return refusal.status;
        }
    }

    /** Does what the input says until `quit` or its end. */
    private static void obey(Work work, InputStream in, PrintStream out) throws IOException {
        for (String line = line(in); line != null; line = line(in)) {
            if (line.isBlank()) {
                continue;
            }
            Command command = Command.parse(line);
            if (command.quits()) {
                return;
            }
            for (int i = 0; i < command.samples(); i++) {
                say(out, sample(work, command.batch()));
            }
            say(out, "done " + command.samples());
        }
    }

    /** Flushed, so that a line is with its reader before the next sample begins. */
    private static void say(PrintStream out, String line) {
        out.print(line + "\n");
        out.flush();
        if (out.checkError()) {
            throw Refusal.misuse("standard output was closed");
        }
    }

    private static String sample(Work work, int batch) {
        Sums sums = new Sums();
        long forksBefore = Forks.soFar();
        CpuTime before = CpuTime.now();
        work.sample(batch, sums);
        CpuTime after = CpuTime.now();
        // When the clock and the CPU time have been read: sorting is not the contender's work.
        String line = "sample " + sums + CpuTime.text(before, after) + sums.distribution();
        return Request.countsForks ? line + " forks=" + (Forks.soFar() - forksBefore) : line;
    }

    /** One line without its end; null at the end of the input. */
    private static String line(InputStream in) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        int next = in.read();
        if (next < 0) {
            return null;
        }
        for (; next >= 0 && next != '\n'; next = in.read()) {
            bytes.write(next);
        }
        try {
            // A decoder of one's own: the one of `String` puts a mark for what is no UTF-8.
            return StandardCharsets.UTF_8.newDecoder()
                    .decode(ByteBuffer.wrap(bytes.toByteArray())).toString();
        } catch (CharacterCodingException error) {
            throw Refusal.misuse("a command that is not UTF-8: " + bytes);
        }
    }
}
