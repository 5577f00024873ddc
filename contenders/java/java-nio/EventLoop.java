import java.io.IOException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.IntConsumer;
import palio.Harness;

/** A thread with a selector, and with what others ask it to do. */
final class EventLoop implements Runnable {
    /** Something that may fail as sockets do. */
    interface Job {
        void run() throws IOException;
    }

    private final Selector selector;
    private final Thread thread = new Thread(this, "event loop");
    private final Queue<Job> jobs = new ConcurrentLinkedQueue<>();
    private boolean stopped;
    private int ended;
    private IntConsumer whenEnded;

    EventLoop() throws IOException {
        selector = Selector.open();
    }

    void start() {
        thread.start();
    }

    /** Has the loop's thread do something. */
    void ask(Job job) {
        jobs.add(job);
        selector.wakeup();
    }

    /** Ends the thread, and waits for it. */
    void stop() {
        ask(() -> stopped = true);
        try {
            thread.join();
        } catch (InterruptedException error) {
            throw new IllegalStateException("nobody interrupts", error);
        }
    }

    /** Has a channel's events call a job. On the loop's thread. */
    void register(SelectableChannel channel, int events, Job job) throws IOException {
        channel.register(selector, events, job);
    }

    /** Counts an end, of which `whenEnded` hears once the channels are closed. On the loop's thread. */
    void end(IntConsumer whenEnded) {
        ended++;
        this.whenEnded = whenEnded;
    }

    @Override
    public void run() {
        try {
            while (!stopped) {
                if (ended == 0) {
                    selector.select(EventLoop::call);
                }
                for (Job job = jobs.poll(); job != null; job = jobs.poll()) {
                    job.run();
                }
                if (ended > 0) {
                    // A channel that was closed keeps its descriptor until its selector looks.
                    int heard = ended;
                    ended = 0;
                    selector.selectNow(EventLoop::call);
                    whenEnded.accept(heard);
                }
            }
            selector.close();
        } catch (IOException | RuntimeException error) {
            // An error of a socket ends the process: nobody waits for a peer that is gone.
            Harness.crash(error);
        }
    }

    private static void call(SelectionKey key) {
        try {
            ((Job) key.attachment()).run();
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }
}
