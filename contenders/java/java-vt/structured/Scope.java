import java.util.concurrent.StructuredTaskScope;
import palio.Forks;

/** A scope of forked tasks, all of which it joins at once. */
final class Scope implements AutoCloseable {
    private final StructuredTaskScope<Object, Void> scope = StructuredTaskScope.open();

    /** Starts a thread that may run on another worker. */
    void fork(Runnable task) {
        Forks.handed();
        scope.fork(task);
    }

    /** Waits for all tasks. No thread here is ever interrupted, and a task that fails ends all. */
    void join() {
        try {
            scope.join();
        } catch (InterruptedException error) {
            throw new IllegalStateException("nobody interrupts", error);
        }
    }

    @Override
    public void close() {
        scope.close();
    }
}
