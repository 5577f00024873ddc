import palio.Iteration;
import palio.Request;
import palio.Work;
import work.Sorting;

/** The row held_out/quicksort: one part is a thread, the other is sorted in place. */
final class Quicksort implements Runnable {
    private final Sorting sorting;
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
        return Work.staged(new Work.Stages() {
            private long tasks;

            @Override
            public void prepare() {
                sorting.prepare();
            }

            @Override
            public void run() {
                Quicksort root = new Quicksort(sorting, 0, sorting.sorted.length);
                Scheduler.join(Scheduler.fork(root));
                tasks = root.tasks;
            }

            @Override
            public Iteration finish() {
                return sorting.iteration(tasks);
            }
        });
    }

    @Override
    public void run() {
        if (to - from <= sorting.leaf) {
            sorting.sortHere(from, to);
            return;
        }
        int middle = sorting.partition(from, to);
        Quicksort left = new Quicksort(sorting, from, middle);
        Thread thread = Scheduler.fork(left);
        Quicksort right = new Quicksort(sorting, middle, to);
        right.run();
        Scheduler.join(thread);
        tasks += left.tasks + right.tasks;
    }
}
