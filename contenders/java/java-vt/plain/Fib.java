import palio.Request;
import palio.Work;
import work.Fibonacci;

/** The row fib: one call is a thread, the other runs in place. */
final class Fib extends FibTask {
    private Fib(long argument) {
        super(argument);
    }

    static Work prepare(Request request) {
        return prepare(request, Fib::new);
    }

    @Override
    public void run() {
        result = fib(argument);
    }

    private static long fib(long argument) {
        if (Fibonacci.isLeaf(argument)) {
            return argument;
        }
        Fib other = new Fib(argument - 1);
        Thread thread = Scheduler.fork(other);
        long here = fib(argument - 2);
        Scheduler.join(thread);
        return here + other.result + Fibonacci.FORK;
    }
}
