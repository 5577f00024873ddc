import java.util.function.LongFunction;
import palio.Request;
import palio.Work;
import work.Fibonacci;

/** A call of the row fib; `Fib` says how it forks. */
abstract class FibTask implements Runnable {
    final long argument;
    long result;

    FibTask(long argument) {
        this.argument = argument;
    }

    static Work prepare(Request request, LongFunction<FibTask> task) {
        Fibonacci fibonacci = new Fibonacci(request);
        return Work.plain(() -> {
            FibTask root = task.apply(fibonacci.argument());
            Scheduler.join(Scheduler.fork(root));
            return fibonacci.iteration(root.result);
        }).countingForks();
    }
}
