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

/** Rows that are asked at a fixed rate: blocking sockets, and a virtual thread for each connection. */
final class TcpServer {
    private final ServerSocket listener;
    private final int connections;
    private final int bytes;
    private final Answer answer;

    /** What came of a connection: the sum of the numbers of its answers, and how many there were. */
    private record Attended(long sum, long requests) {}

    /** Makes a request its answer. */
    private interface Answer {
        void to(ByteBuffer request);
    }

    private TcpServer(ServerSocket listener, int connections, int bytes, Answer answer) {
        this.listener = listener;
        this.connections = connections;
        this.bytes = bytes;
        this.answer = answer;
    }

    /** Sends back what it reads. */
    static Work echoing(Request request) {
        return prepare(request, Long.BYTES, ignored -> {});
    }

    /** Computes with the two numbers at the beginning of a request. */
    static Work computing(Request request) {
        long steps = request.between("steps", 0, 1L << 36);
        return prepare(request, 2 * Long.BYTES, numbers -> {
            long x = numbers.getLong(0);
            long factor = numbers.getLong(Long.BYTES);
            for (long step = 0; step < steps; step++) {
                x = x * factor + 1;
            }
            numbers.putLong(0, x);
        });
    }

    /** A request begins with so many bytes of numbers. */
    private static Work prepare(Request request, int numbers, Answer answer) {
        int connections = request.count("connections");
        int bytes = (int) request.between("bytes", numbers, 1 << 20);
        // When requests come, and how many, is for those who ask.
        request.count("rate");
        request.count("requests");
        ServerSocket listener;
        try {
            listener = new ServerSocket(0, connections, InetAddress.getByAddress(new byte[] {127, 0, 0, 1}));
        } catch (IOException error) {
            throw Refusal.unsupported("cannot listen: " + error.getMessage());
        }
        TcpServer server = new TcpServer(listener, connections, bytes, answer);
        return Work.serving(
                        listener.getLocalPort(),
                        () -> Scheduler.onVirtualThread(() -> Scheduler.withExecutor(server::serve)))
                .stoppedBy(() -> {
                    try {
                        listener.close();
                    } catch (IOException error) {
                        throw new UncheckedIOException(error);
                    }
                });
    }

    private Iteration serve(ExecutorService executor) {
        List<Future<Attended>> served = new ArrayList<>();
        try {
            for (int i = 0; i < connections; i++) {
                Socket connection = listener.accept();
                connection.setTcpNoDelay(true);
                served.add(executor.submit(() -> attend(connection)));
            }
        } catch (IOException error) {
            Harness.crash(error);
        }
        long sum = 0;
        long requests = 0;
        for (Future<Attended> one : served) {
            Attended attended = Scheduler.get(one);
            sum += attended.sum;
            requests += attended.requests;
        }
        return new Iteration(sum, requests, requests);
    }

    /** Answers each request of a connection. */
    private Attended attend(Socket connection) throws IOException {
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
                    return new Attended(sum, requests);
                }
                if (filled < bytes) {
                    throw new EOFException("a request was cut off");
                }
                answer.to(numbers);
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
