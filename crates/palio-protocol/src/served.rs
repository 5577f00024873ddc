//! What a server computes for a request of `tcp_compute_latency`.
//!
//! A request begins with two numbers of 8 bytes, lowest byte first: `x`, and a factor. The server
//! replaces `x` by what `steps` steps of `x = x * factor + 1` make of it, modulo 2⁶⁴. No step can
//! begin before the one before it has ended, and as the factor is not known when a server is
//! compiled, no compiler makes one step of several.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_multiplies_and_adds_one() {
        let numbers = [5_u64.to_le_bytes(), 3_u64.to_le_bytes()].concat();
        for (steps, number) in [(0, 5_u64), (1, 16), (2, 49), (3, 148)] {
            let mut request = [&numbers[..], &[7; 3]].concat();
            answer_in_place(&mut request, steps);
            assert_eq!(request[..8], number.to_le_bytes(), "{steps} steps");
            assert_eq!(request[8..], [&numbers[8..], &[7; 3]].concat());
        }
        let mut greatest = [0xFF; NUMBERS];
        answer_in_place(&mut greatest, 1);
        // (-1) * (-1) + 1
        assert_eq!(greatest[..8], 2_u64.to_le_bytes(), "it wraps");
    }
}
