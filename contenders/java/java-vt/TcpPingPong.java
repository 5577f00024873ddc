import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import palio.Descriptors;
import palio.Harness;
import palio.Iteration;
import palio.Request;
import palio.Salt;
import palio.Work;

/** The row tcp_ping_pong: blocking sockets, and a virtual thread for each side of a connection. */
final class TcpPingPong {
    private static final byte[] LOOPBACK = {127, 0, 0, 1};

    private final ExecutorService executor;
    private final int connections;
    private final int roundTrips;
    private final List<Future<Received>> sides = new ArrayList<>();

    /** What one side of a connection has read. */
    private record Received(long sum, long bytes, long roundTrips) {}

    private TcpPingPong(ExecutorService executor, int connections, int roundTrips) {
        this.executor = executor;
        this.connections = connections;
        this.roundTrips = roundTrips;
    }

    static Work prepare(Request request) {
        int connections = request.count("connections");
        int roundTrips = (int) request.between("round_trips", 0, Integer.MAX_VALUE);
        Descriptors.refuseTooMany(connections);
        return Scheduler.rooted(executor -> new TcpPingPong(executor, connections, roundTrips).run());
    }

    private Iteration run() {
        try (ServerSocket listener = new ServerSocket(0, connections, InetAddress.getByAddress(LOOPBACK))) {
            for (int i = 0; i < connections; i++) {
                int key = (int) (Salt.mixed(i) | 1) & 0xFF;
                spawn(() -> answer(new Socket(listener.getInetAddress(), listener.getLocalPort()), key));
            }
            for (int i = 0; i < connections; i++) {
                Socket accepted = listener.accept();
                spawn(() -> begin(accepted));
            }
            return join();
        } catch (IOException error) {
            Harness.crash(error);
            throw new IllegalStateException(error);
        }
    }

    /** Spawns a side whose errors end the process: nobody waits for a peer that is gone. */
    private void spawn(Callable<Received> side) {
        sides.add(executor.submit(() -> {
            try {
                return side.call();
            } catch (IOException error) {
                Harness.crash(error);
                throw error;
            }
        }));
    }

    private Iteration join() {
        long sum = 0;
        long bytes = 0;
        long trips = 0;
        for (Future<Received> side : sides) {
            Received received = Scheduler.get(side);
            sum += received.sum;
            bytes += received.bytes;
            trips += received.roundTrips;
        }
        return new Iteration(sum, trips, bytes);
    }

    /** The accepting side writes what it read last, and 0 at first. */
    private Received begin(Socket connection) throws IOException {
        try (connection) {
            InputStream in = connection.getInputStream();
            OutputStream out = connection.getOutputStream();
            int one = 0;
            long sum = 0;
            long bytes = 0;
            for (int i = 0; i < roundTrips; i++) {
                out.write(one);
                one = read(in);
                sum += one;
                bytes++;
            }
            return new Received(sum, bytes, bytes);
        }
    }

    /** The connecting side writes what it read plus its key. */
    private Received answer(Socket connection, int key) throws IOException {
        try (connection) {
            InputStream in = connection.getInputStream();
            OutputStream out = connection.getOutputStream();
            long sum = 0;
            long bytes = 0;
            for (int i = 0; i < roundTrips; i++) {
                int one = read(in);
                sum += one;
                bytes++;
                out.write(one + key & 0xFF);
            }
            return new Received(sum, bytes, 0);
        }
    }

    private static int read(InputStream in) throws IOException {
        int one = in.read();
        if (one < 0) {
            throw new EOFException("the peer is gone");
        }
        return one;
    }
}
