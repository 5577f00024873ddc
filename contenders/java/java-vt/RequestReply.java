import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import palio.Iteration;
import palio.Request;
import palio.Salt;
import palio.Work;
import work.Bell;

/** The row of requests to a server that lives through all iterations. */
final class RequestReply {
    private static final int ROOM = 10;

    /** A request, or null instead of the reply for the end of the server. */
    private record Asked(long value, CompletableFuture<Long> reply) {}

    private RequestReply() {}

    static Work prepare(Request request) {
        int requests = request.count("requests");
        BlockingQueue<Asked> server = new ArrayBlockingQueue<>(ROOM);
        return served(server, Scheduler.rooted(request, executor ->
                Scheduler.get(executor.submit(() -> client(server, requests)))));
    }

    /** The root itself is the client. */
    static Work prepareInOne(Request request) {
        int requests = request.count("requests");
        BlockingQueue<Asked> server = new ArrayBlockingQueue<>(ROOM);
        return served(server, Scheduler.rootedInOne(request, executor -> client(server, requests)));
    }

    private static Work served(BlockingQueue<Asked> server, Work work) {
        Thread serving = Thread.startVirtualThread(() -> serve(server));
        return work.stoppedBy(() -> {
            server.add(new Asked(0, null));
            Scheduler.join(serving);
        });
    }

    private static void serve(BlockingQueue<Asked> server) {
        for (Asked asked = Bell.take(server); asked.reply != null; asked = Bell.take(server)) {
            asked.reply.complete(asked.value + 1);
        }
    }

    private static void ask(BlockingQueue<Asked> server, Asked asked) {
        try {
            server.put(asked);
        } catch (InterruptedException error) {
            throw new IllegalStateException("nobody interrupts", error);
        }
    }

    private static Iteration client(BlockingQueue<Asked> server, int requests) {
        long sum = 0;
        long answered = 0;
        for (int i = 0; i < requests; i++) {
            CompletableFuture<Long> reply = new CompletableFuture<>();
            ask(server, new Asked(Salt.salt + i, reply));
            sum += reply.join();
            answered++;
        }
        return new Iteration(sum, answered, answered);
    }
}
