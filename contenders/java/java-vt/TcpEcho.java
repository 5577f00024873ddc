import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import palio.Harness;
import palio.Iteration;
import palio.Refusal;
import palio.Request;
import palio.Work;

/** The row tcp_echo_latency: blocking sockets, and a virtual thread for each connection. */
final class TcpEcho {
    private final ServerSocket listener;
    private final int connections;
    private final int bytes;

    /** What came of a connection: the sum of the numbers of its requests, and how many there were. */
    private record Echoed(long sum, long requests) {}

    private TcpEcho(ServerSocket listener, int connections, int bytes) {
        this.listener = listener;
        this.connections = connections;
        this.bytes = bytes;
    }

    static Work prepare(Request request) {
        int connections = request.count("connections");
        // A request has a number, which takes 8 bytes.
        int bytes = (int) request.between("bytes", Long.BYTES, 1 << 20);
        // When requests come, and how many, is for those who ask.
        request.count("rate");
        request.count("requests");
        ServerSocket listener;
        try {
            listener = new ServerSocket(0, connections, InetAddress.getByAddress(new byte[] {127, 0, 0, 1}));
        } catch (IOException error) {
            throw Refusal.unsupported("cannot listen: " + error.getMessage());
        }
        TcpEcho echo = new TcpEcho(listener, connections, bytes);
        return Work.serving(
                        listener.getLocalPort(),
                        () -> Scheduler.onVirtualThread(() -> Scheduler.withExecutor(echo::serve)))
                .stoppedBy(() -> {
                    try {
                        listener.close();
                    } catch (IOException error) {
                        throw new UncheckedIOException(error);
                    }
                });
    }

    private Iteration serve(ExecutorService executor) {
        List<Future<Echoed>> served = new ArrayList<>();
        try {
            for (int i = 0; i < connections; i++) {
                Socket connection = listener.accept();
                connection.setTcpNoDelay(true);
                served.add(executor.submit(() -> echo(connection)));
            }
        } catch (IOException error) {
            Harness.crash(error);
        }
        long sum = 0;
        long requests = 0;
        for (Future<Echoed> one : served) {
            Echoed echoed = Scheduler.get(one);
            sum += echoed.sum;
            requests += echoed.requests;
        }
        return new Iteration(sum, requests, requests);
    }

    /** Answers each request of a connection. */
    private Echoed echo(Socket connection) throws IOException {
        try (connection) {
            InputStream in = connection.getInputStream();
            OutputStream out = connection.getOutputStream();
            byte[] request = new byte[bytes];
            ByteBuffer numbers = ByteBuffer.wrap(request).order(ByteOrder.LITTLE_ENDIAN);
            long sum = 0;
            long requests = 0;
            while (true) {
                int filled = in.readNBytes(request, 0, bytes);
                if (filled == 0) {
                    return new Echoed(sum, requests);
                }
                if (filled < bytes) {
                    throw new EOFException("a request was cut off");
                }
                out.write(request);
                sum += numbers.getLong(0);
                requests++;
            }
        } catch (IOException error) {
            Harness.crash(error);
            throw error;
        }
    }
}
