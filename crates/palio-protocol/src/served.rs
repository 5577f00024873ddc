//! What a server computes for a request of `tcp_compute_latency`, and what that is known to be.
//!
//! A request begins with two numbers of 8 bytes, lowest byte first: `x`, and a factor. The server
//! replaces `x` by what `steps` steps of `x = x * factor + 1` make of it, modulo 2⁶⁴. No step can
//! begin before the one before it has ended, and as the factor is not known when a server is
//! compiled, no compiler makes one step of several. Whoever checks the answer needs no more than
//! twice as many multiplications as `steps` has bits.

/// The bytes of the two numbers.
pub const NUMBERS: usize = 2 * size_of::<u64>();

/// Makes the answer of a request, step by step: that is the work.
///
/// # Panics
/// If the request is shorter than its [`NUMBERS`].
pub fn answer_in_place(request: &mut [u8], steps: u64) {
    let (number, rest) = request.split_first_chunk_mut().expect("a request has a number");
    let factor = rest.first_chunk().expect("a request that is computed with has a factor");
    let (x, factor) = (u64::from_le_bytes(*number), u64::from_le_bytes(*factor));
    let computed = (0..steps).fold(x, |x, _| x.wrapping_mul(factor).wrapping_add(1));
    *number = computed.to_le_bytes();
}

/// The number that `x` becomes, by repeated squaring of a step.
#[must_use]
pub const fn computed(x: u64, factor: u64, mut steps: u64) -> u64 {
    // A step, or two, four, eight of them, are one multiplication and one addition.
    let (mut a, mut b) = (factor, 1_u64);
    let mut x = x;
    while steps > 0 {
        if steps % 2 == 1 {
            x = x.wrapping_mul(a).wrapping_add(b);
        }
        b = b.wrapping_mul(a).wrapping_add(b);
        a = a.wrapping_mul(a);
        steps /= 2;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::salt::mix;

    #[test]
    fn what_the_steps_make_of_a_number_is_known_without_them() {
        for steps in (0..70).chain([1_000, 16_384]) {
            for salt in [0, 1, u64::MAX] {
                let (x, factor) = (mix(salt, steps), mix(salt, 3));
                let mut request = [&x.to_le_bytes()[..], &factor.to_le_bytes(), &[7; 3]].concat();
                answer_in_place(&mut request, steps);
                let answer = computed(x, factor, steps).to_le_bytes();
                assert_eq!(request[..8], answer, "{steps} steps of {x} by {factor}");
                assert_eq!(request[8..], [&factor.to_le_bytes()[..], &[7; 3]].concat());
            }
        }
    }
}
