package work;

import palio.Iteration;
import palio.Request;
import palio.Salt;

/** The ring of held_out/phases, whose tasks write the next values beside the present ones. */
public final class Phases {
    public final int cells;
    public final int phases;
    private final int steps;
    private long[] values;
    private long[] next;

    public Phases(Request request) {
        cells = request.count("cells");
        phases = (int) request.between("phases", 0, Integer.MAX_VALUE);
        steps = (int) request.between("steps", 0, Integer.MAX_VALUE);
    }

    public void begin() {
        values = new long[cells];
        next = new long[cells];
        for (int i = 0; i < cells; i++) {
            values[i] = Salt.mixed(i);
        }
    }

    /** What the task of one cell does. */
    public void step(int cell) {
        long mixed = values[(cell + cells - 1) % cells] + 3 * values[cell] + 5 * values[(cell + 1) % cells];
        next[cell] = Mixing.grind(mixed, cell, steps);
    }

    public void endPhase() {
        long[] past = values;
        values = next;
        next = past;
    }

    public Iteration iteration(long tasks) {
        long sum = 0;
        for (long value : values) {
            sum += value;
        }
        return new Iteration(sum, tasks, tasks);
    }
}
