import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import palio.Descriptors;
import palio.Harness;
import palio.Iteration;
import palio.Request;
import palio.Salt;
import palio.Work;

/** One iteration of the row tcp_ping_pong, whose connections are dealt out to the loops in turn. */
final class TcpPingPong {
    private static final byte[] LOOPBACK = {127, 0, 0, 1};

    final int roundTrips;
    final SocketAddress address;
    private final EventLoop[] loops;
    private final ServerSocketChannel listener;
    private final AtomicInteger running;
    private final LongAdder sum = new LongAdder();
    private final LongAdder bytes = new LongAdder();
    private final LongAdder trips = new LongAdder();
    private final Semaphore over = new Semaphore(0);

    /** The connections accepted so far, of which the first loop knows. */
    private int accepted;

    private TcpPingPong(EventLoop[] loops, int connections, int roundTrips) throws IOException {
        this.loops = loops;
        this.roundTrips = roundTrips;
        running = new AtomicInteger(2 * connections);
        listener = ServerSocketChannel.open();
        listener.bind(new InetSocketAddress(InetAddress.getByAddress(LOOPBACK), 0), connections);
        listener.configureBlocking(false);
        address = listener.getLocalAddress();
    }

    static Work prepare(Request request) {
        int connections = request.count("connections");
        int roundTrips = (int) request.between("round_trips", 0, Integer.MAX_VALUE);
        Descriptors.refuseTooMany(connections);
        EventLoop[] loops = new EventLoop[request.threads()];
        try {
            for (int i = 0; i < loops.length; i++) {
                loops[i] = new EventLoop();
                loops[i].start();
            }
        } catch (IOException error) {
            Harness.crash(error);
        }
        return Work.plain(() -> run(loops, connections, roundTrips)).stoppedBy(() -> {
            for (EventLoop loop : loops) {
                loop.stop();
            }
        });
    }

    /** On the thread outside, which asks the first loop to begin, and waits. */
    private static Iteration run(EventLoop[] loops, int connections, int roundTrips) {
        Semaphore begun = new Semaphore(0);
        TcpPingPong[] row = new TcpPingPong[1];
        loops[0].ask(() -> {
            row[0] = new TcpPingPong(loops, connections, roundTrips);
            row[0].begin(connections);
            begun.release();
        });
        begun.acquireUninterruptibly();
        row[0].over.acquireUninterruptibly();
        return new Iteration(row[0].sum.sum(), row[0].trips.sum(), row[0].bytes.sum());
    }

    private void begin(int connections) throws IOException {
        loops[0].register(listener, SelectionKey.OP_ACCEPT, this::accept);
        for (int i = 0; i < connections; i++) {
            int key = (int) (Salt.mixed(i) | 1) & 0xFF;
            EventLoop loop = loops[i % loops.length];
            loop.ask(() -> Side.connecting(loop, this, key));
        }
    }

    private void accept() throws IOException {
        SocketChannel channel = listener.accept();
        if (channel != null) {
            EventLoop loop = loops[accepted++ % loops.length];
            loop.ask(() -> Side.accepted(loop, this, channel));
        }
    }

    /** What a side has read. */
    void count(long sum, long bytes, long trips) {
        this.sum.add(sum);
        this.bytes.add(bytes);
        this.trips.add(trips);
    }

    /** So many sides are closed. */
    void ended(int sides) {
        if (running.addAndGet(-sides) == 0) {
            loops[0].ask(() -> {
                listener.close();
                loops[0].end(ignored -> over.release());
            });
        }
    }
}
