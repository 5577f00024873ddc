//! The base case.

use std::array;
use std::ops::Deref;

use super::block::{Block, BlockMut, Cells};
use super::matrix::Matrix;

/// Rows and columns of the base case.
pub const BASE: usize = 32;

/// C += A * B on blocks of the base case's size: the plain triple loop, in the order i, k, j.
pub fn multiply_base<M, K>(a: &Block<M>, b: &Block<M>, c: &mut BlockMut<K>)
where
    M: Deref<Target = Matrix> + Clone,
    K: Cells,
{
    // The rows of B are looked up (and their bounds checked) once, not once for every row of A.
    let b: [&[f32; BASE]; BASE] = array::from_fn(|k| b.row(k));
    for i in 0..BASE {
        multiply_row(a.row(i), &b, c.row_mut(i));
    }
}

/// The loops over k and j.
///
/// A function of its own because the compiler learns only from parameters that a row of C overlaps no row of A or B;
/// with the rows in local variables it fell back to scalar code, eight times slower. Never inlined, so that neither a
/// contender's surroundings nor the kind of its blocks change the machine code; one call for 1,024 additions and
/// multiplications is within the noise.
#[inline(never)]
fn multiply_row(a: &[f32; BASE], b: &[&[f32; BASE]; BASE], c: &mut [f32; BASE]) {
    for k in 0..BASE {
        for j in 0..BASE {
            c[j] += a[k] * b[k][j];
        }
    }
}
