import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;

/** One side of a connection, which belongs to one loop. It is done when it has read all bytes. */
final class Side {
    private final EventLoop loop;
    private final TcpPingPong row;
    private final SocketChannel channel;

    /** What is added to a byte before it goes back; 0 on the accepting side. */
    private final int key;

    private final boolean accepting;
    private final ByteBuffer one = ByteBuffer.allocateDirect(1);
    private long sum;
    private int bytes;

    private Side(EventLoop loop, TcpPingPong row, SocketChannel channel, int key, boolean accepting)
            throws IOException {
        this.loop = loop;
        this.row = row;
        this.channel = channel;
        this.key = key;
        this.accepting = accepting;
        channel.configureBlocking(false);
    }

    /** The side that accepted, and writes first. On the loop's thread. */
    static void accepted(EventLoop loop, TcpPingPong row, SocketChannel channel) throws IOException {
        Side side = new Side(loop, row, channel, 0, true);
        if (row.roundTrips == 0) {
            side.end();
            return;
        }
        loop.register(channel, SelectionKey.OP_READ, side::read);
        side.write(0);
    }

    /** The side that connects, and reads first. On the loop's thread. */
    static void connecting(EventLoop loop, TcpPingPong row, int key) throws IOException {
        SocketChannel channel = SocketChannel.open();
        Side side = new Side(loop, row, channel, key, false);
        if (channel.connect(row.address)) {
            side.connected();
        } else {
            loop.register(channel, SelectionKey.OP_CONNECT, () -> {
                if (channel.finishConnect()) {
                    side.connected();
                }
            });
        }
    }

    private void connected() throws IOException {
        if (row.roundTrips == 0) {
            end();
        } else {
            // Takes the place of what was registered for the connection.
            loop.register(channel, SelectionKey.OP_READ, this::read);
        }
    }

    private void read() throws IOException {
        one.clear();
        int got = channel.read(one);
        if (got < 0) {
            throw new EOFException("the peer is gone");
        }
        if (got == 0) {
            return;
        }
        int value = one.get(0) & 0xFF;
        sum += value;
        bytes++;
        boolean done = bytes == row.roundTrips;
        // The accepting side began, so that its last byte is one that it reads.
        if (!accepting || !done) {
            write(value + key);
        }
        if (done) {
            end();
        }
    }

    private void write(int value) throws IOException {
        one.clear();
        one.put(0, (byte) value);
        // Neither side has more than two bytes under way.
        if (channel.write(one) == 0) {
            throw new IOException("there is no room for one byte");
        }
    }

    private void end() throws IOException {
        channel.close();
        row.count(sum, bytes, accepting ? bytes : 0);
        loop.end(row::ended);
    }
}
