//! `fork_all`: as many closures as one likes.

use super::join::join;

/// One closure, and then what it has returned.
enum Leg<F, R> {
    Closure(F),
    Running,
    Result(R),
}

/// Runs all closures, potentially in parallel, and returns their results in
/// order.
///
/// It is `join` over halves: thieves take as many closures as the owner keeps.
///
/// # Panics
/// As [`join`]: all closures run, and of the payloads, that of the first
/// closure in the array to have panicked is rethrown.
///
/// ```
/// use trefoil::fork_join::fork_all;
/// let texts = ["one", "three", "five"];
/// let lengths = fork_all(texts.map(|text| move || text.len()));
/// assert_eq!(lengths, [3, 5, 4]);
/// ```
#[inline]
pub fn fork_all<F, R, const N: usize>(closures: [F; N]) -> [R; N]
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    let mut legs = closures.map(Leg::Closure);
    halves(&mut legs);
    legs.map(|leg| match leg {
        Leg::Result(result) => result,
        Leg::Closure(_) | Leg::Running => unreachable!("`halves` runs all, or panics"),
    })
}

fn halves<F, R>(legs: &mut [Leg<F, R>])
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    match legs {
        [] => {}
        [leg] => {
            if let Leg::Closure(closure) = std::mem::replace(leg, Leg::Running) {
                *leg = Leg::Result(closure());
            }
        }
        _ => {
            let (left, right) = legs.split_at_mut(legs.len() / 2);
            join(|| halves(left), || halves(right));
        }
    }
}
