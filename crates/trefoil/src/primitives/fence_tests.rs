//! Tests that an RMW and `fence_after_rmw` are a full fence: in the machine code that the compiler
//! makes of them, and in what two threads see of each other.

use super::atomic::{AcqRel, AtomicU32, AtomicU64, Relaxed, Release, fence_after_rmw};
use super::{CachePadded, thread};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Acquire, compiler_fence};

/// The pattern of `Ring::push_fenced`. It takes two references, so that on x86-64 the first is in
/// `rdi` and the second in `rsi`. It has a name that is found in the disassembly.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn trefoil_swap_then_load(ours: &AtomicU32, theirs: &AtomicU32) -> u32 {
    ours.swap(1, AcqRel);
    fence_after_rmw();
    theirs.load(Relaxed)
}

/// The pattern of `Owner::publish`, which does not use the sum.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn trefoil_add_then_load(ours: &AtomicU64, theirs: &AtomicU64) -> u64 {
    ours.fetch_add(1, AcqRel);
    fence_after_rmw();
    theirs.load(Relaxed)
}

/// The instructions of a function of this executable. None if no `objdump` is here that knows them.
fn disassembled(function: &str) -> Option<Vec<String>> {
    // The second is that of a machine of another kind, on which an emulator runs this.
    let programs = ["objdump", "aarch64-linux-gnu-objdump"];
    let text = programs.iter().find_map(|program| {
        let output = std::process::Command::new(program)
            .args(["--no-show-raw-insn", "--no-addresses"])
            .arg(format!("--disassemble={function}"))
            .arg(std::env::current_exe().unwrap())
            .output()
            .ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    })?;
    let body = text.split(&format!("<{function}>:")).nth(1).expect("the function is found");
    let lines = body.lines().map(str::trim).skip_while(|line| line.is_empty());
    Some(lines.take_while(|line| !line.is_empty()).map(str::to_owned).collect())
}

/// x86-64: the RMW is a locked instruction, and comes before the load.
fn is_fenced_on_x86_64(code: &[String]) -> bool {
    let position = |operand: &str| code.iter().position(|line| line.contains(operand));
    let (Some(ours), Some(theirs)) = (position("(%rdi)"), position("(%rsi)")) else { return false };
    let is_locked = code[ours].starts_with("xchg") || code[ours].starts_with("lock");
    is_locked && ours < theirs
}

/// aarch64: a full barrier is between the RMW, an instruction or a call of a function that is named
/// after one, and all loads that come after the RMW.
fn is_fenced_on_aarch64(code: &[String]) -> bool {
    let is_rmw = |line: &String| ["swp", "ldadd", "stlxr"].iter().any(|name| line.contains(name));
    let Some(rmw) = code.iter().rposition(is_rmw) else { return false };
    let mut after = code[rmw..].iter().filter(|line| {
        line.starts_with("ldr") || line.split_whitespace().collect::<Vec<_>>() == ["dmb", "ish"]
    });
    after.next().is_some_and(|line| line.starts_with("dmb")) && after.next().is_some()
}

#[test]
fn fence_after_rmw_is_a_full_fence_in_the_machine_code() {
    // The functions are used here, so that they are in the executable.
    assert_eq!(trefoil_swap_then_load(&AtomicU32::new(0), &AtomicU32::new(2)), 2);
    assert_eq!(trefoil_add_then_load(&AtomicU64::new(0), &AtomicU64::new(2)), 2);
    let is_fenced = match std::env::consts::ARCH {
        "x86_64" => is_fenced_on_x86_64,
        "aarch64" => is_fenced_on_aarch64,
        arch => return eprintln!("skipped: nobody has said how code for {arch} has to look"),
    };
    if cfg!(debug_assertions) {
        return eprintln!("skipped: only optimised code says anything");
    }
    for function in ["trefoil_swap_then_load", "trefoil_add_then_load"] {
        let Some(code) = disassembled(function) else {
            return eprintln!("skipped: for want of objdump");
        };
        assert!(is_fenced(&code), "{function}: {code:#?}");
        eprintln!("{function}: {}", code.join(" ; "));
    }
}

/// Runs two threads that write their own word and read the other's, on new cache lines in every
/// round. Returns in how many rounds both threads read the old value.
fn both_missed(rounds: usize, visit: fn(&AtomicU32, &AtomicU32) -> u32) -> usize {
    const BATCH: usize = 64;
    type Side = [CachePadded<AtomicU32>; BATCH];
    struct Arena {
        words: [Side; 2],
        reads: [Side; 2],
        /// The batch that each thread has reached. Both start a batch together.
        batches: [CachePadded<AtomicUsize>; 2],
    }
    let side = || std::array::from_fn(|_| CachePadded(AtomicU32::new(0)));
    let arena = Arc::new(Arena {
        words: [side(), side()],
        reads: [side(), side()],
        batches: Default::default(),
    });
    fn play(arena: &Arena, me: usize, batch: usize, visit: fn(&AtomicU32, &AtomicU32) -> u32) {
        meet(arena, me, 3 * batch + 1);
        for index in 0..BATCH {
            let read = visit(&arena.words[me][index], &arena.words[1 - me][index]);
            arena.reads[me][index].store(read, Relaxed);
        }
        meet(arena, me, 3 * batch + 2);
    }
    fn meet(arena: &Arena, me: usize, point: usize) {
        // Release and Acquire: accesses before and after this point stay there.
        arena.batches[me].store(point, Release);
        let mut spins = 0;
        while arena.batches[1 - me].load(Acquire) < point {
            spins += 1;
            if cfg!(miri) || spins % 256 == 0 {
                std::thread::yield_now();
            }
        }
    }
    let theirs = Arc::clone(&arena);
    let batches = rounds / BATCH;
    let other = move || {
        for batch in 0..batches {
            play(&theirs, 1, batch, visit);
            // The first thread counts, and resets the words.
            meet(&theirs, 1, 3 * batch + 3);
        }
    };
    thread::spawn("litmus".into(), None, other).unwrap();
    let mut missed = 0;
    for batch in 0..batches {
        play(&arena, 0, batch, visit);
        for index in 0..BATCH {
            let read = |me: usize| arena.reads[me][index].load(Relaxed);
            missed += usize::from(read(0) == 0 && read(1) == 0);
            for me in [0, 1] {
                arena.words[me][index].store(0, Relaxed);
            }
        }
        meet(&arena, 0, 3 * batch + 3);
    }
    missed
}

#[test]
fn fence_after_rmw_lets_no_two_threads_miss_each_other() {
    // The number of rounds that it takes. Without optimisation, or under a sanitizer, a round costs
    // much more. Miri shows what weak memory may show in every few rounds.
    let rounds = if cfg!(miri) {
        64
    } else if cfg!(trefoil_tsan) {
        20_000
    } else if cfg!(debug_assertions) {
        400_000
    } else {
        8_000_000
    };
    let fenced = both_missed(rounds, |ours, theirs| {
        ours.swap(1, AcqRel);
        fence_after_rmw();
        theirs.load(Relaxed)
    });
    let plain = both_missed(rounds, |ours, theirs| {
        ours.store(1, Release);
        compiler_fence(super::atomic::SeqCst);
        theirs.load(Relaxed)
    });
    // The second number is not asserted, because a machine may be too slow or too strict to show
    // it.
    eprintln!("store buffering in {rounds} rounds: {fenced} behind an RMW, {plain} without");
    assert_eq!(fenced, 0);
}
