package work;

import java.util.concurrent.BlockingQueue;

/** Waiting where nothing interrupts. */
public final class Bell {
    private Bell() {}

    /** Takes what comes next. No thread here is ever interrupted. */
    public static <T> T take(BlockingQueue<T> queue) {
        try {
            return queue.take();
        } catch (InterruptedException error) {
            throw new IllegalStateException("nobody interrupts", error);
        }
    }
}
