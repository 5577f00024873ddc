import java.util.Map;
import palio.Contender;
import palio.Harness;

/** The contender java-fjp: fork and join on a `ForkJoinPool`. README.md tells the decisions. */
public final class Main {
    private Main() {}

    public static void main(String[] args) {
        Map<String, Contender.Prepare> workloads = Map.ofEntries(
                Map.entry("fib", Fib::prepare),
                Map.entry("skynet", Skynet::prepare),
                Map.entry("nqueens", Nqueens::prepare),
                Map.entry("matmul", Matmul::prepare),
                Map.entry("held_out/unbalanced_tree", UnbalancedTree::prepare),
                Map.entry("held_out/quicksort", Quicksort::prepare),
                Map.entry("held_out/phases", PhasesOfTasks::prepare),
                Map.entry("rt_current_thread/spawn_many_local", Spawning::prepareOnOneThread),
                Map.entry("rt_multi_threaded/spawn_many_local", Spawning::prepareDetached),
                Map.entry("rt_multi_threaded/spawn_many_remote", Spawning::prepareRemote),
                Map.entry("rt_multi_threaded/spawn_many_remote_idle", Spawning::prepareFromOutside),
                Map.entry("rt_multi_threaded/chained_spawn", Chain::prepareFromOutside),
                Map.entry("spawn_one", SpawnOne::prepare),
                Map.entry("defer_one", SpawnOne::prepareDeferred),
                Map.entry("chained_spawn", Chain::prepare),
                Map.entry("catch_unwind_panics", Cold::preparePanics),
                Map.entry("deep_recursion", Cold::prepareRecursion),
                Map.entry("fan_out_compute", Cold::preparePrimes),
                Map.entry("multi_thread_scaling", Cold::preparePrimes));
        Harness.run(
                new Contender(
                        "java-fjp" + System.getProperty("palio.variant", ""),
                        "ForkJoinPool " + Contender.javaVersion(),
                        Contender.jvmFlags(),
                        workloads,
                        Pool.KNOBS),
                args);
    }
}
