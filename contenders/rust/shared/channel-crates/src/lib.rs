//! Channels of other crates, on which a contender races in place of its own: the knob `channels`.
//!
//! All of them work on any runtime. A contender with the knob turned has another name in every
//! report, so that these never stand for its runtime.
#![forbid(unsafe_code)]

mod async_channel;
mod crossfire;
mod flume;
mod kanal;

use async_workloads::{
    AsyncRuntime, Channels, Oneshots, native_rows_on_channels, rows_on_channels,
};
use palio_protocol::harness::{Prepare, Refusal, Request};

/// The knob, and its position where nothing is turned: the channels of the runtime itself.
pub const KNOB: (&str, &str) = ("channels", "own");

/// A table of rows.
pub type Rows = Vec<(&'static str, Prepare)>;

/// A position of the knob, and its rows.
pub type Position = (&'static str, fn() -> Rows);

/// Every row that has the knob, on the channels `C`; what takes one value is `O`'s.
#[must_use]
pub fn rows_on<R: AsyncRuntime, C: Channels, O: Oneshots>() -> Rows {
    let mut rows = Rows::from(rows_on_channels::<R, C>());
    rows.extend(native_rows_on_channels::<R, C, O>());
    rows
}

/// Takes the knob where the workload has it; the rows to take in place of the usual ones, if it is
/// turned. `more` are positions that the contender has beside those of this crate.
///
/// # Errors
/// The knob's value names no channel.
pub fn read_knob<R: AsyncRuntime, O: Channels + Oneshots>(
    request: &mut Request,
    more: &[Position],
) -> Result<Option<Rows>, Refusal> {
    let (knob, usual) = KNOB;
    let has_knob = rows_on::<R, O, O>().iter().any(|(name, _)| *name == request.workload);
    // Elsewhere the knob stays where it is, and the harness refuses what nobody took.
    let turned = if has_knob { request.knob::<String>(knob)? } else { None };
    let Some(name) = turned.filter(|name| name != usual) else { return Ok(None) };
    let here: [Position; 4] = [
        ("async-channel", rows_on::<R, async_channel::AsyncChannels, O>),
        ("crossfire", rows_on_crossfire::<R, O>),
        ("flume", rows_on::<R, flume::FlumeChannels, O>),
        ("kanal", rows_on::<R, kanal::KanalChannels, O>),
    ];
    let mut known = here.iter().chain(more);
    match known.find(|(channels, _)| *channels == name) {
        Some((_, rows)) => Ok(Some(rows())),
        None => {
            let names: Vec<_> = here.iter().chain(more).map(|(channels, _)| *channels).collect();
            let names = names.join(", ");
            let text = format!("--set {knob}={name} is neither {usual} nor one of {names}");
            Err(Refusal::Misuse(text))
        }
    }
}

/// After crossfire was told to look at the number of processors, as its documentation asks programs
/// to do at their start.
fn rows_on_crossfire<R: AsyncRuntime, O: Oneshots>() -> Rows {
    ::crossfire::detect_backoff_cfg();
    rows_on::<R, crossfire::CrossfireChannels, O>()
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// What the rows rely on, of channels that are never full for long.
    fn hands_everything_over<C: Channels>() {
        let (sender, mut receiver) = C::bounded::<u64>(2);
        let received = smol::block_on(async {
            let sends = async {
                for value in 0..100 {
                    C::send(&sender.clone(), value).await;
                }
                drop(sender);
            };
            let receives = async {
                let mut all = Vec::new();
                while let Some(value) = C::next(&mut receiver).await {
                    all.push(value);
                }
                all
            };
            smol::future::zip(sends, receives).await.1
        });
        assert_eq!(received, Vec::from_iter(0..100));

        let (sender, mut receiver) = C::unbounded::<u64>();
        for value in 0..100 {
            C::send_unbounded(&sender, value);
        }
        drop(sender);
        for value in 0..100 {
            assert_eq!(smol::block_on(C::receive_unbounded(&mut receiver)), Some(value));
        }
        assert_eq!(smol::block_on(C::receive_unbounded(&mut receiver)), None);
    }

    /// With room for one, a second value waits until the first is taken.
    fn keeps_its_bound<C: Channels>() {
        let (sender, mut receiver) = C::bounded::<u64>(1);
        let mut cx = Context::from_waker(Waker::noop());
        smol::block_on(C::send(&sender, 1));
        let mut second = pin!(C::send(&sender, 2));
        let early = second.as_mut().poll(&mut cx);
        assert_eq!(smol::block_on(C::next(&mut receiver)), Some(1));
        let late = second.as_mut().poll(&mut cx);
        assert_eq!((early, late), (Poll::Pending, Poll::Ready(())));
    }

    macro_rules! test {
        ($name:ident: $channels:ty) => {
            mod $name {
                #[test]
                fn hands_everything_over() {
                    super::hands_everything_over::<$channels>();
                }

                #[test]
                fn keeps_its_bound() {
                    super::keeps_its_bound::<$channels>();
                }
            }
        };
    }

    test!(async_channel: crate::async_channel::AsyncChannels);
    test!(crossfire: crate::crossfire::CrossfireChannels);
    test!(flume: crate::flume::FlumeChannels);
    test!(kanal: crate::kanal::KanalChannels);
}
