import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveAction;
import palio.Iteration;
import palio.Request;
import palio.Work;
import work.Sorting;

/** The row held_out/quicksort: one part is forked, the other is sorted in place. */
final class Quicksort extends RecursiveAction {
    private static final long serialVersionUID = 1;

    private final transient Sorting sorting;
    private final int from;
    private final int to;
    private long tasks = 1;

    private Quicksort(Sorting sorting, int from, int to) {
        this.sorting = sorting;
        this.from = from;
        this.to = to;
    }

    static Work prepare(Request request) {
        Sorting sorting = new Sorting(request);
        ForkJoinPool pool = Pool.maker(request).get();
        return Work.staged(new Work.Stages() {
            private long tasks;

            @Override
            public void prepare() {
                sorting.prepare();
            }

            @Override
            public void run() {
                Quicksort root = new Quicksort(sorting, 0, sorting.sorted.length);
                pool.invoke(root);
                tasks = root.tasks;
            }

            @Override
            public Iteration finish() {
                return sorting.iteration(tasks);
            }
        }).stoppedBy(pool::close);
    }

    @Override
    protected void compute() {
        if (to - from <= sorting.leaf) {
            sorting.sortHere(from, to);
            return;
        }
        int middle = sorting.partition(from, to);
        Quicksort left = new Quicksort(sorting, from, middle);
        left.fork();
        Quicksort right = new Quicksort(sorting, middle, to);
        right.compute();
        left.join();
        tasks += left.tasks + right.tasks;
    }
}
