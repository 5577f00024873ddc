import palio.Request;
import palio.Work;
import work.Fibonacci;

/** The row fib: one call is forked in a scope, the other runs in place. */
final class Fib implements Runnable {
    private final long argument;
    private long result;

    private Fib(long argument) {
        this.argument = argument;
    }

    static Work prepare(Request request) {
        Fibonacci fibonacci = new Fibonacci(request);
        return Work.plain(() -> {
            Fib root = new Fib(fibonacci.argument());
            Scheduler.join(Scheduler.fork(root));
            return fibonacci.iteration(root.result);
        }).countingForks();
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
        try (Scope scope = new Scope()) {
            scope.fork(other);
            long here = fib(argument - 2);
            scope.join();
            return here + other.result + Fibonacci.FORK;
        }
    }
}
