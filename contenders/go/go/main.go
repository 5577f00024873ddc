// Command go races goroutines and channels on Go's own scheduler.
package main

import (
	"os"
	"runtime"
	"strings"

	"palio/contenders/go/harness"
)

func main() {
	os.Exit(harness.Serve(harness.Contender{
		ID:         "go",
		Runtime:    "go",
		Version:    strings.TrimPrefix(runtime.Version(), "go"),
		Toolchain:  strings.Join([]string{runtime.Compiler, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}, " "),
		Flags:      flags(),
		ThreadsMax: threadsMax,
		Workloads:  workloads,
		Knobs: []harness.Knob{
			{Name: "gogc", Default: gogcDefault},
			{Name: "memory_limit_mib", Default: memoryLimitDefault},
		},
	}))
}

var workloads = []harness.Workload{
	{Name: "fib", Prepare: prepareFib},
	{Name: "skynet", Prepare: prepareSkynet},
	{Name: "nqueens", Prepare: prepareNqueens},
	{Name: "matmul", Prepare: prepareMatmul},
	{Name: "rt_multi_threaded/spawn_many_local", Prepare: prepareSpawnManyLocal},
	{Name: "rt_multi_threaded/spawn_many_remote", Prepare: rooted(prepareSpawnManyRemote)},
	{Name: "rt_multi_threaded/spawn_many_remote_idle", Prepare: prepareSpawnManyRemoteIdle},
	{Name: "rt_multi_threaded/spawn_many_remote_busy1", Prepare: rooted(prepareSpawnManyRemoteBusy1)},
	{Name: "rt_multi_threaded/spawn_many_remote_busy2", Prepare: prepareSpawnManyRemoteBusy2},
	{Name: "rt_multi_threaded/ping_pong", Prepare: preparePingPong},
	{Name: "rt_multi_threaded/yield_many", Prepare: prepareYieldManyFromOutside},
	{Name: "rt_multi_threaded/chained_spawn", Prepare: prepareChainFromOutside},
	{Name: "rt_current_thread/spawn_many_local", Prepare: onOneThread(prepareSpawnManyOnOneThread)},
	{Name: "rt_current_thread/spawn_many_remote_busy", Prepare: onOneThread(prepareSpawnManyBesideAChain)},
	{Name: "spawn/basic_scheduler_spawn", Prepare: onOneThread(prepareSpawnYieldJoin)},
	{Name: "spawn/threaded_scheduler_spawn", Prepare: rooted(prepareSpawnYieldJoin)},
	{Name: "sync_mpsc/contention", Prepare: rooted(prepareMpscCounted(rootEach))},
	{Name: "sync_mpsc/uncontended", Prepare: rooted(prepareSendThenReceive(rootEach))},
	{Name: "sync_mpsc_oneshot/request_reply", Prepare: rooted(prepareRequestReply(rootEach))},
	{Name: "native_sync/mpsc_contention", Prepare: rooted(prepareMpscCounted(rootInOne))},
	{Name: "native_sync/mpsc_uncontended", Prepare: rooted(prepareSendThenReceive(rootInOne))},
	{Name: "native_sync/request_reply", Prepare: rooted(prepareRequestReply(rootInOne))},
	{Name: "native_sync/semaphore_uncontended", Prepare: rooted(prepareSemaphore)},
	{Name: "native_sync/semaphore_contention", Prepare: rooted(prepareSemaphore)},
	{Name: "native_sync/notify_one", Prepare: prepareNotifyOne},
	{Name: "native_sync/notify_waiters", Prepare: prepareNotifyWaiters},
	{Name: "timer/sleep", Prepare: prepareSleep},
	{Name: "timer/sleep_armed", Prepare: prepareSleep},
	{Name: "timer/timeout", Prepare: prepareTimeout},
	{Name: "tcp_echo_latency", Prepare: prepareTCPEcho},
	{Name: "tcp_compute_latency", Prepare: prepareTCPCompute},
	{Name: "fan_in", Prepare: rooted(prepareFanIn)},
	{Name: "catch_unwind_panics", Prepare: preparePanics},
	{Name: "chained_spawn", Prepare: prepareChainedSpawn},
	{Name: "deep_recursion", Prepare: prepareDeepRecursion},
	{Name: "fan_out_compute", Prepare: preparePrimes},
	{Name: "many_timers", Prepare: prepareManyTimers},
	{Name: "mpsc_contention", Prepare: prepareMpscContention},
	{Name: "multi_thread_scaling", Prepare: preparePrimes},
	{Name: "ping_pong_oneshot", Prepare: preparePingPongOneshot},
	{Name: "spawn_storm_busy", Prepare: prepareSpawnStormBusy},
	{Name: "uncontended_channel", Prepare: onOneThread(prepareUncontendedChannel)},
	{Name: "yield_in_hot_loop", Prepare: onOneThread(prepareYieldMany)},
	{Name: "yield_many", Prepare: prepareYieldMany},
	{Name: "fairness/wake_latency_busy", Prepare: prepareWakeLatency},
	{Name: "fairness/timer_lateness_busy", Prepare: prepareTimerLateness},
	{Name: "fairness/spawn_blocking_blocks", Prepare: prepareSpawnBlockingBlocks},
	{Name: "fairness/spawn_blocking_beside", Prepare: prepareSpawnBlockingBeside},
	{Name: "fairness/injected_latency", Prepare: prepareInjectedLatency},
	{Name: "fairness/flood_gap", Prepare: prepareFloodGap},
	{Name: "fairness/starvation", Prepare: prepareStarvation},
	{Name: "fairness/block_in_place", Prepare: prepareBlockInPlace},
	{Name: "held_out/unbalanced_tree", Prepare: prepareUnbalancedTree},
	{Name: "held_out/quicksort", Prepare: prepareQuicksort},
	{Name: "held_out/phases", Prepare: preparePhases},
	{Name: "held_out/pipeline", Prepare: preparePipeline},
	{Name: "held_out/broadcast", Prepare: prepareBroadcast},
	{Name: "held_out/deadlines", Prepare: prepareDeadlines},
	{Name: "held_out/requests", Prepare: prepareRequests},
	{Name: "spawn_one", Prepare: prepareSpawnOne},
	{Name: "tcp_ping_pong", Prepare: prepareTCPPingPong},
}
