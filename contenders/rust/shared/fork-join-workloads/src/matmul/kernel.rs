//! The base case.

use std::ops::Deref;

use super::block::{BASE, Block, BlockMut, Cells, Rows};
use super::matrix::Matrix;

/// C += A * B on blocks of the base case's size: the plain triple loop, in the order i, k, j.
pub fn multiply_base<M, K>(a: &Block<M>, b: &Block<M>, c: &mut BlockMut<K>)
where
    M: Deref<Target = Matrix> + Clone,
    K: Cells,
{
    let (a, b) = (a.rows(), b.rows());
    for i in 0..BASE {
        multiply_row(a.row(i), b, c.row_mut(i));
    }
}

/// The loops over k and j.
///
/// A function of its own because the compiler learns only from parameters that a row of C overlaps
/// no row of A or B; with the rows in local variables it fell back to scalar code, eight times
/// slower. Never inlined, so that neither a contender's surroundings nor the kind of its blocks
/// change the machine code; one call for 1,024 additions and multiplications is within the noise.
#[inline(never)]
fn multiply_row(a: &[i32; BASE], b: Rows<'_>, c: &mut [i32; BASE]) {
    for (k, &factor) in a.iter().enumerate() {
        for (c, &b) in c.iter_mut().zip(b.row(k)) {
            *c += factor * b;
        }
    }
}
