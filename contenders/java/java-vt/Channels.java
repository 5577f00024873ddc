import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Function;
import palio.Iteration;
import palio.Request;
import palio.Salt;
import palio.Work;
import work.Bell;

/** The rows of channels, which are Java's blocking queues. */
final class Channels {
    /** What a sender puts last where the receiver must learn that it has hung up. */
    private static final Object HUNG_UP = new Object();

    private Channels() {}

    static Work prepareFanIn(Request request) {
        int senders = request.count("senders");
        int buffer = request.count("buffer");
        boolean first = request.oneOf("reader", "first", "last").equals("first");
        return Scheduler.rootedInOne(request, executor -> fanIn(executor, senders, buffer, first));
    }

    /** The reader is a task before all senders, or else the root after them. */
    private static Iteration fanIn(ExecutorService executor, int senders, int buffer, boolean first) {
        BlockingQueue<Long> channel = new ArrayBlockingQueue<>(buffer);
        Future<Iteration> reader = first ? executor.submit(() -> receive(channel, senders)) : null;
        for (int i = 0; i < senders; i++) {
            long value = Salt.salt + i;
            Thread.startVirtualThread(() -> put(channel, value));
        }
        return first ? Scheduler.get(reader) : receive(channel, senders);
    }

    static Work prepareCounted(Request request) {
        return Scheduler.rooted(request, counted(request));
    }

    static Work prepareCountedInOne(Request request) {
        return Scheduler.rootedInOne(request, counted(request));
    }

    private static Function<ExecutorService, Iteration> counted(Request request) {
        int producers = request.count("producers");
        int messages = request.count("messages");
        return executor -> {
            BlockingQueue<Long> channel = new LinkedBlockingQueue<>();
            for (int i = 0; i < producers; i++) {
                long from = Salt.salt + (long) i * messages;
                executor.execute(() -> send(channel, from, messages));
            }
            return receive(channel, producers * messages);
        };
    }

    static Work prepareSendThenReceive(Request request) {
        int messages = request.count("messages");
        return Scheduler.rooted(request, executor -> Scheduler.get(executor.submit(() -> sendThenReceive(messages))));
    }

    /** The root itself is who sends and receives. */
    static Work prepareSendThenReceiveInOne(Request request) {
        int messages = request.count("messages");
        return Scheduler.rootedInOne(request, executor -> sendThenReceive(messages));
    }

    private static Iteration sendThenReceive(int messages) {
        BlockingQueue<Long> channel = new LinkedBlockingQueue<>();
        send(channel, Salt.salt, messages);
        return receive(channel, messages);
    }

    static Work prepareUntilHungUp(Request request) {
        int producers = request.count("producers");
        int messages = request.count("messages");
        return Scheduler.rooted(executor -> {
            BlockingQueue<Object> channel = new LinkedBlockingQueue<>();
            for (int i = 0; i < producers; i++) {
                long from = Salt.salt + (long) i * messages;
                executor.execute(() -> sendAndHangUp(channel, from, messages));
            }
            return receiveUntilHungUp(channel, producers);
        });
    }

    static Work prepareUncontended(Request request) {
        int messages = request.count("messages");
        return Scheduler.rooted(executor -> {
            BlockingQueue<Object> channel = new LinkedBlockingQueue<>();
            Future<?> sender = executor.submit(() -> sendAndHangUp(channel, Salt.salt, messages));
            Future<Iteration> receiver = executor.submit(() -> receiveUntilHungUp(channel, 1));
            Scheduler.get(sender);
            return Scheduler.get(receiver);
        });
    }

    private static void put(BlockingQueue<Long> channel, long value) {
        try {
            channel.put(value);
        } catch (InterruptedException error) {
            throw new IllegalStateException("nobody interrupts", error);
        }
    }

    private static void send(BlockingQueue<? super Long> channel, long from, int messages) {
        for (int i = 0; i < messages; i++) {
            channel.add(from + i);
        }
    }

    private static void sendAndHangUp(BlockingQueue<Object> channel, long from, int messages) {
        send(channel, from, messages);
        channel.add(HUNG_UP);
    }

    private static Iteration receive(BlockingQueue<Long> channel, int messages) {
        long sum = 0;
        long received = 0;
        while (received < messages) {
            sum += Bell.take(channel);
            received++;
        }
        return new Iteration(sum, received, received);
    }

    private static Iteration receiveUntilHungUp(BlockingQueue<Object> channel, int senders) {
        long sum = 0;
        long received = 0;
        while (senders > 0) {
            Object value = Bell.take(channel);
            if (value == HUNG_UP) {
                senders--;
            } else {
                sum += (Long) value;
                received++;
            }
        }
        return new Iteration(sum, received, received);
    }
}
