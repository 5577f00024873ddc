//! Actors that fail, and a supervisor that starts them again.
//!
//! `cargo run --release -p trefoil --features actor,fiber --example supervised_actors -- 1000`
//!
//! A *divider* divides numbers, and panics at a zero. A *tally*, which is a fiber, adds the results
//! up. A client asks for as many divisions as the argument says, every tenth one by zero: it sees
//! its divider's end, waits for the next one, and goes on. The tally never notices.

use std::env;
use std::error::Error;
use std::time::Duration;
use trefoil::actor::supervisor::{Child, Strategy, Supervisor};
use trefoil::actor::{Address, Context, ExitReason, Registry};
use trefoil::sync::oneshot;
use trefoil::task;

struct Divide {
    by: u64,
    answer: oneshot::Sender<u64>,
}

enum Tally {
    Add(u64),
    Sum(oneshot::Sender<u64>),
}

async fn divider(mut own: Context<Divide>) {
    while let Ok(Divide { by, answer }) = own.receive().await {
        // The client may have gone.
        let _ = answer.send(5040 / by);
    }
}

/// A fiber: it waits as a thread would.
fn tally(mut own: Context<Tally>) {
    let mut sum = 0;
    while let Ok(message) = own.blocking_receive() {
        match message {
            Tally::Add(n) => sum += n,
            // The same.
            Tally::Sum(answer) => drop(answer.send(sum)),
        }
    }
}

/// The divider that there is now, or the next one.
async fn find(registry: &Registry) -> Address<Divide> {
    loop {
        if let Ok(divider) = registry.find("divider") {
            return divider;
        }
        task::yield_now().await;
    }
}

#[trefoil::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let divisions: u64 = env::args().nth(1).map_or(Ok(100), |count| count.parse())?;
    let registry = Registry::new();
    let (names, tallies) = (registry.clone(), registry.clone());
    let supervisor = Supervisor::new(Strategy::OneForOne)
        .intensity(u32::MAX, Duration::from_secs(1))
        .child(Child::new("tally", move |starter| {
            tallies.register("tally", &starter.spawn_fiber(tally)?)?;
            Ok(())
        }))
        .child(Child::new("divider", move |starter| {
            names.register("divider", &starter.spawn(divider))?;
            Ok(())
        }))
        .start()
        .await?;

    // The panics are expected, and counted below: their messages would hide all else.
    std::panic::set_hook(Box::new(|_| ()));
    let tally = registry.find::<Tally>("tally")?;
    let mut failures = 0;
    for n in 1..=divisions {
        let by = if n % 10 == 0 { 0 } else { n % 10 };
        let divider = find(&registry).await;
        let (answer, answered) = oneshot::channel();
        divider.send(Divide { by, answer }).await?;
        match answered.await {
            Ok(result) => tally.send(Tally::Add(result)).await?,
            Err(_) => match divider.join().await {
                ExitReason::Panic(_) => failures += 1,
                other => return Err(format!("the divider has ended: {other}").into()),
            },
        }
    }

    let (answer, answered) = oneshot::channel();
    tally.send(Tally::Sum(answer)).await?;
    let sum = answered.await?;
    let status = supervisor.children().await?;
    let restarts: Vec<_> = status.iter().map(|it| format!("{} {}", it.name, it.restarts)).collect();
    println!("sum {sum}, failures {failures}, restarts: {}", restarts.join(", "));
    supervisor.stop().await;
    Ok(())
}
