package palio;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** What the command line asks for. */
public final class Request {
    /** Whether this process is there to count its forks: {@link Forks} reads it once. */
    static boolean countsForks;

    private String workload;
    private int threads;
    private boolean salted;
    private boolean countForks;
    private final Map<String, String> settings = new HashMap<>();

    static Request parse(String[] args) {
        Request request = new Request();
        for (int i = 0; i < args.length; i++) {
            String option = args[i];
            if (option.equals("--count-forks")) {
                refuseTwice(option, request.countForks);
                request.countForks = true;
                continue;
            }
            if (!List.of("--workload", "--threads", "--salt", "--set").contains(option)) {
                throw Refusal.misuse("unknown argument " + option);
            }
            if (++i == args.length) {
                throw Refusal.misuse(option + " wants a value");
            }
            request.take(option, args[i]);
        }
        refuseMissing("--workload", request.workload != null);
        refuseMissing("--threads", request.threads > 0);
        refuseMissing("--salt", request.salted);
        countsForks = request.countForks;
        return request;
    }

    private static void refuseTwice(String what, boolean seen) {
        if (seen) {
            throw Refusal.misuse(what + " is given twice");
        }
    }

    private static void refuseMissing(String option, boolean found) {
        if (!found) {
            throw Refusal.misuse(option + " is missing");
        }
    }

    private void take(String option, String value) {
        switch (option) {
            case "--workload" -> {
                refuseTwice(option, workload != null);
                workload = value;
            }
            case "--threads" -> {
                refuseTwice(option, threads > 0);
                try {
                    threads = Numbers.parseCount(value);
                } catch (NumberFormatException error) {
                    throw Refusal.misuse("--threads " + value + " is not an integer of at least 1");
                }
            }
            case "--salt" -> {
                refuseTwice(option, salted);
                try {
                    Salt.salt = Numbers.parse(value);
                } catch (NumberFormatException error) {
                    throw Refusal.misuse("--salt " + value + " is not a whole number of 64 bits");
                }
                salted = true;
            }
            default -> {
                int equals = value.indexOf('=');
                if (equals < 1 || equals == value.length() - 1) {
                    throw Refusal.misuse("--set " + value + " is not KEY=VALUE");
                }
                if (value.chars().anyMatch(Character::isWhitespace)) {
                    throw Refusal.misuse("--set " + value + " has white space in it");
                }
                String key = value.substring(0, equals);
                refuseTwice("--set " + key, settings.containsKey(key));
                settings.put(key, value.substring(equals + 1));
            }
        }
    }

    public String workload() {
        return workload;
    }

    public int threads() {
        return threads;
    }

    boolean countForks() {
        return countForks;
    }

    /** Takes a knob: what the user turned it to, or its default. */
    public String knob(String key, String otherwise) {
        String value = settings.remove(key);
        return value == null ? otherwise : value;
    }

    /** Takes a knob that is a number from `low` to `high`. */
    public int knob(String key, String otherwise, int low, int high) {
        String value = knob(key, otherwise);
        long number = number(key, value);
        if (Long.compareUnsigned(number, low) < 0 || Long.compareUnsigned(number, high) > 0) {
            throw Refusal.misuse("--set " + key + "=" + value + " is not from " + low + " to " + high);
        }
        return (int) number;
    }

    /** Takes a parameter of the workload. */
    public String text(String key) {
        String value = settings.remove(key);
        if (value == null) {
            throw Refusal.misuse("the parameter " + key + " is missing: add --set " + key + "=…");
        }
        return value;
    }

    /** Takes a parameter of the workload, one of a few words. */
    public String oneOf(String key, String... words) {
        String value = text(key);
        if (!List.of(words).contains(value)) {
            throw Refusal.misuse(
                    "--set " + key + "=" + value + " is none of " + String.join(", ", words));
        }
        return value;
    }

    /** Takes a parameter of the workload, a whole number without a sign from `low` to `high`. */
    public long between(String key, long low, long high) {
        String value = text(key);
        long number = number(key, value);
        if (Long.compareUnsigned(number, low) < 0 || Long.compareUnsigned(number, high) > 0) {
            throw Refusal.misuse("--set " + key + "=" + value + " is not from "
                    + Long.toUnsignedString(low) + " to " + Long.toUnsignedString(high));
        }
        return number;
    }

    /** Takes a parameter of the workload that says how many there are of something. */
    public int count(String key) {
        return (int) between(key, 1, Integer.MAX_VALUE);
    }

    long number(String key, String value) {
        try {
            return Numbers.parse(value);
        } catch (NumberFormatException error) {
            throw Refusal.misuse("--set " + key + "=" + value + " is not a whole number of 64 bits");
        }
    }

    void refuseWhatIsLeft() {
        if (!settings.isEmpty()) {
            // In order, so that the same mistake always gets the same message.
            String first = new TreeSet<>(settings.keySet()).first();
            throw Refusal.misuse(workload + " has no parameter or knob " + first);
        }
    }
}
