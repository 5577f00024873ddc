import static java.util.Map.entry;

import java.util.Map;
import palio.Contender;
import palio.Harness;

/** The contender java-vt: Java's virtual threads. README.md tells the decisions. */
public final class Main {
    private static final Map<String, Contender.Prepare> WORKLOADS = Map.ofEntries(
            entry("fib", Scheduler.started(Fib::prepare)),
            entry("skynet", Scheduler.started(Skynet::prepare)),
            entry("nqueens", Scheduler.started(Nqueens::prepare)),
            entry("matmul", Scheduler.started(Matmul::prepare)),
            entry("rt_current_thread/spawn_many_local", Scheduler.onOneThread(Spawning::prepareFromInside)),
            entry("rt_multi_threaded/spawn_many_local", Scheduler.started(Spawning::prepareDetached)),
            entry("rt_multi_threaded/spawn_many_remote", Scheduler.started(Spawning::prepareRemote)),
            entry("rt_multi_threaded/spawn_many_remote_idle", Scheduler.started(Spawning::prepareFromOutside)),
            entry("rt_multi_threaded/ping_pong", Scheduler.started(PingPong::preparePairs)),
            entry("rt_multi_threaded/yield_many", Scheduler.started(Yielding::prepareFromOutside)),
            entry("rt_multi_threaded/chained_spawn", Scheduler.started(Chain::prepareFromOutside)),
            entry("spawn/basic_scheduler_spawn", Scheduler.onOneThread(Yielding::prepareOnce)),
            entry("spawn/threaded_scheduler_spawn", Scheduler.started(Yielding::prepareOnceRooted)),
            entry("sync_mpsc/contention", Scheduler.started(Channels::prepareCounted)),
            entry("sync_mpsc/uncontended", Scheduler.started(Channels::prepareSendThenReceive)),
            entry("sync_mpsc_oneshot/request_reply", Scheduler.started(RequestReply::prepare)),
            entry("sync_semaphore/contention", Scheduler.started(Semaphores::prepare)),
            entry("sync_semaphore/uncontended", Scheduler.started(Semaphores::prepare)),
            entry("timer/timeout", Scheduler.started(Timers::prepareTimeout)),
            entry("native_sync/mpsc_contention", Scheduler.started(Channels::prepareCountedInOne)),
            entry("native_sync/mpsc_uncontended", Scheduler.started(Channels::prepareSendThenReceiveInOne)),
            entry("native_sync/request_reply", Scheduler.started(RequestReply::prepareInOne)),
            entry("native_sync/semaphore_contention", Scheduler.started(Semaphores::prepareInOne)),
            entry("native_sync/semaphore_uncontended", Scheduler.started(Semaphores::prepareInOne)),
            entry("fan_in", Scheduler.started(Channels::prepareFanIn)),
            entry("chained_spawn", Scheduler.started(Chain::prepare)),
            entry("catch_unwind_panics", Scheduler.started(Computing::preparePanics)),
            entry("deep_recursion", Scheduler.started(Computing::prepareRecursion)),
            entry("fan_out_compute", Scheduler.started(Computing::preparePrimes)),
            entry("multi_thread_scaling", Scheduler.started(Computing::preparePrimes)),
            entry("many_timers", Scheduler.started(Timers::prepareMany)),
            entry("mpsc_contention", Scheduler.started(Channels::prepareUntilHungUp)),
            entry("ping_pong_oneshot", Scheduler.started(PingPong::prepareRounds)),
            entry("spawn_storm_busy", Scheduler.started(Spawning::prepareStorm)),
            entry("uncontended_channel", Scheduler.onOneThread(Channels::prepareUncontended)),
            entry("yield_in_hot_loop", Scheduler.onOneThread(Yielding::prepare)),
            entry("yield_many", Scheduler.started(Yielding::prepare)),
            entry("held_out/unbalanced_tree", Scheduler.started(UnbalancedTree::prepare)),
            entry("held_out/quicksort", Scheduler.started(Quicksort::prepare)),
            entry("held_out/phases", Scheduler.started(PhasesOfThreads::prepare)),
            entry("held_out/pipeline", Scheduler.started(Pipeline::prepare)),
            entry("held_out/broadcast", Scheduler.started(Actors::prepare)),
            entry("held_out/deadlines", Scheduler.started(Timers::prepareDeadlines)),
            entry("held_out/requests", Scheduler.started(Requests::prepare)),
            entry("spawn_one", Scheduler.started(SpawnOne::prepare)),
            entry("tcp_echo_latency", Scheduler.started(TcpServer::echoing)),
            entry("tcp_compute_latency", Scheduler.started(TcpServer::computing)),
            entry("tcp_ping_pong", Scheduler.started(TcpPingPong::prepare)));

    private Main() {}

    public static void main(String[] args) {
        Harness.run(
                new Contender(
                        "java-vt" + System.getProperty("palio.variant", ""),
                        "virtual-threads " + Contender.javaVersion(),
                        Contender.jvmFlags(),
                        WORKLOADS,
                        Map.of(Scheduler.MAX_POOL_SIZE, Scheduler.MAX_POOL_SIZE_DEFAULT)),
                args);
    }
}
