import java.util.concurrent.RecursiveAction;
import palio.Forks;
import palio.Request;
import palio.Work;
import work.Fibonacci;

/** The row fib: one call is forked, the other runs in place. */
final class Fib extends RecursiveAction {
    private static final long serialVersionUID = 1;

    private final long argument;

    /** A field, and not what `RecursiveTask` returns, which would be an object of its own. */
    private long result;

    private Fib(long argument) {
        this.argument = argument;
    }

    static Work prepare(Request request) {
        Fibonacci fibonacci = new Fibonacci(request);
        return Pool.steady(request, pool -> {
            Fib root = new Fib(fibonacci.argument());
            Forks.handed();
            pool.invoke(root);
            return fibonacci.iteration(root.result);
        }).countingForks();
    }

    @Override
    protected void compute() {
        result = fib(argument);
    }

    private static long fib(long argument) {
        if (Fibonacci.isLeaf(argument)) {
            return argument;
        }
        Fib other = new Fib(argument - 1);
        Forks.handed();
        other.fork();
        long here = fib(argument - 2);
        other.join();
        return here + other.result + Fibonacci.FORK;
    }
}
