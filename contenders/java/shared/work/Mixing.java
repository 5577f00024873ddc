package work;

import palio.Salt;

/** Work of so many steps, none of which can start before the one before it has ended. */
public final class Mixing {
    private Mixing() {}

    public static long grind(long value, long key, int steps) {
        for (int step = 0; step < steps; step++) {
            value = Salt.mix(value, key);
        }
        return value;
    }
}
