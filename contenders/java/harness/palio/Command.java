package palio;

/**
 * What Palio may ask of a contender that is ready: to take samples of `batch` iterations each, or
 * to quit, which has no samples.
 */
record Command(int samples, int batch) {
    private static final Command QUIT = new Command(0, 0);

    boolean quits() {
        return this == QUIT;
    }

    static Command parse(String line) {
        String[] words = line.strip().split("\\s+");
        if (words.length == 1 && words[0].equals("quit")) {
            return QUIT;
        }
        if (!words[0].equals("run") || words.length < 2 || words.length > 3) {
            throw Refusal.misuse("expected run SAMPLES [BATCH], or quit, in the line " + shown(line));
        }
        try {
            int batch = words.length == 3 ? Numbers.parseCount(words[2]) : 1;
            return new Command(Numbers.parseCount(words[1]), batch);
        } catch (NumberFormatException error) {
            throw Refusal.misuse("SAMPLES and BATCH are integers of at least 1, in the line " + shown(line));
        }
    }

    /** A flood on the input must not flood the error message too. */
    private static String shown(String line) {
        return line.length() > 120 ? line.substring(0, 120) + "…" : line;
    }
}
