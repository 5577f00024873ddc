//! Square parts of a matrix.
//!
//! Two kinds of contender share them. A framework with scoped jobs borrows the matrices; tasks of
//! an async runtime must own what they use, so there the same blocks hold a reference count instead
//! of a borrow.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::iter;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use super::matrix::{Matrix, allocated_cells, checksum, first_on_line};

/// Rows and columns of the base case.
pub const BASE: usize = 32;

/// Where a block lies: `size` rows of `size` cells, each `stride` after the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    first: usize,
    stride: usize,
    size: usize,
}

impl Place {
    const fn whole(n: usize) -> Self {
        Self { first: 0, stride: n, size: n }
    }

    fn quadrants(self) -> [Self; 4] {
        let size = self.size / 2;
        let (right, down) = (size, size * self.stride);
        let quadrant = |first| Self { first, size, ..self };
        [self.first, self.first + right, self.first + down, self.first + down + right].map(quadrant)
    }

    const fn row(self, i: usize) -> usize {
        assert!(i < self.size);
        self.first + i * self.stride
    }
}

/// A block to read, of a matrix that is borrowed (`&Matrix`) or shared (`Arc<Matrix>`).
#[derive(Clone, Copy, Debug)]
pub struct Block<M> {
    matrix: M,
    place: Place,
}

impl<M: Deref<Target = Matrix> + Clone> Block<M> {
    /// The whole matrix.
    pub fn of(matrix: M) -> Self {
        let place = Place::whole(matrix.n());
        Self { matrix, place }
    }

    /// Upper left, upper right, lower left, lower right.
    pub fn quadrants(&self) -> [Self; 4] {
        self.place.quadrants().map(|place| Self { matrix: self.matrix.clone(), place })
    }

    /// The rows of a block of the base case's size.
    pub(super) fn rows(&self) -> Rows<'_> {
        let Place { first, stride, size } = self.place;
        assert_eq!(size, BASE, "only the base case is read");
        let cells = &self.matrix.cells()[first..=self.place.row(BASE - 1) + (BASE - 1)];
        Rows { cells: cells.as_ptr(), stride, borrowed: PhantomData }
    }
}

/// The rows of a block of the base case's size, whose bounds were checked together: to look up a
/// row is an addition.
///
/// **Invariant:** [`BASE`] rows of [`BASE`] cells, the first at `cells` and each `stride` after the
/// one before, lie in one slice that is borrowed for `'a`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows<'a> {
    cells: *const i32,
    stride: usize,
    borrowed: PhantomData<&'a [i32]>,
}

impl<'a> Rows<'a> {
    #[inline]
    pub(super) fn row(self, i: usize) -> &'a [i32; BASE] {
        assert!(i < BASE);
        // SAFETY: by the invariant, row `i` of `BASE` lies in the slice that `cells` points into.
        let row = unsafe { self.cells.add(i * self.stride) };
        // SAFETY: as above, `BASE` cells from here are one row of it, and it is borrowed for `'a`;
        // an array is aligned as its cells are.
        unsafe { &*row.cast() }
    }
}

/// What a [`BlockMut`] writes into: cells that are borrowed or shared.
pub trait Cells: Deref<Target = [Cell<i32>]> + Clone + sealed::Sealed {}
impl Cells for &[Cell<i32>] {}
impl Cells for Arc<[Cell<i32>]> {}

mod sealed {
    use super::{Arc, Cell};

    pub trait Sealed {}
    impl Sealed for &[Cell<i32>] {}
    impl Sealed for Arc<[Cell<i32>]> {}
}

/// A block to write, the only one that covers its cells.
///
/// **Invariant:** two live blocks never cover the same cell, and nobody else accesses the cells
/// while a block lives. A block starts as the whole of a matrix that it borrows exclusively or
/// owns. From then on it is only split, reborrowed and joined.
pub struct BlockMut<K> {
    cells: K,
    place: Place,
}

impl<K> fmt::Debug for BlockMut<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BlockMut").field(&self.place).finish()
    }
}

// SAFETY: `Cell` forbids sending because another thread might have the same cell; by the invariant
// of `BlockMut` nobody else has one of this block's cells.
unsafe impl Send for BlockMut<&[Cell<i32>]> {}
// SAFETY: as above; the reference count of an `Arc` is atomic.
unsafe impl Send for BlockMut<Arc<[Cell<i32>]>> {}

impl<K: Cells> BlockMut<K> {
    /// Rows, and columns.
    pub const fn size(&self) -> usize {
        self.place.size
    }

    /// Row `i` of a block of the base case's size.
    pub(super) fn row_mut(&mut self, i: usize) -> &mut [i32; BASE] {
        let start = self.place.row(i);
        let row = &self.cells[start..start + self.place.size];
        let row: &[Cell<i32>; BASE] = row.try_into().expect("only the base case is written");
        let row: *const UnsafeCell<[i32; BASE]> = std::ptr::from_ref(row).cast();
        // SAFETY: `row` points to initialised cells, which may be written through a shared
        // reference because they are `Cell`s (an `UnsafeCell` of the whole row has the same
        // layout). By the invariant of `BlockMut` only `self` covers them, and `self` is borrowed
        // exclusively for as long as the result lives.
        unsafe { &mut *UnsafeCell::raw_get(row) }
    }

    /// Reborrows the block as upper left, upper right, lower left and lower right.
    pub fn quadrants(&mut self) -> [BlockMut<&[Cell<i32>]>; 4] {
        let places = self.place.quadrants();
        places.map(|place| BlockMut { cells: &*self.cells, place })
    }

    /// Cuts into upper left, upper right, lower left and lower right.
    pub fn split(self) -> [Self; 4] {
        self.place.quadrants().map(|place| Self { cells: self.cells.clone(), place })
    }

    /// Puts together again what [`split`](Self::split) has cut.
    ///
    /// # Panics
    /// When these are not the four quadrants of one block, in their order.
    pub fn merge(quadrants: [Self; 4]) -> Self {
        let places = quadrants.each_ref().map(|quadrant| quadrant.place);
        let [upper_left, others @ ..] = quadrants;
        for other in &others {
            assert!(
                std::ptr::eq(&*upper_left.cells, &*other.cells),
                "these are not quadrants of one matrix"
            );
        }
        let place = Place { size: 2 * upper_left.place.size, ..upper_left.place };
        assert_eq!(places, place.quadrants(), "these are not the quadrants of one block");
        Self { cells: upper_left.cells, place }
    }
}

impl<'a> BlockMut<&'a [Cell<i32>]> {
    /// The whole of a matrix, borrowed.
    pub fn borrowed(matrix: &'a mut Matrix) -> Self {
        let place = Place::whole(matrix.n());
        Self { cells: Cell::from_mut(matrix.cells_mut()).as_slice_of_cells(), place }
    }
}

impl BlockMut<Arc<[Cell<i32>]>> {
    /// The whole of a matrix, owned, all zeros.
    pub fn zero(n: usize) -> Self {
        let cells: Arc<[_]> = iter::repeat_with(Cell::default).take(allocated_cells(n)).collect();
        let place = Place { first: first_on_line(&cells), ..Place::whole(n) };
        Self { cells, place }
    }

    /// Sets every cell of a whole matrix to zero.
    ///
    /// # Panics
    /// When this is not the whole matrix.
    pub fn clear(&mut self) {
        self.whole().iter().for_each(|cell| cell.set(0));
    }

    /// The answer of the workload, from a whole matrix.
    ///
    /// # Panics
    /// When this is not the whole matrix.
    pub fn checksum(&mut self) -> u64 {
        checksum(self.place.size, self.whole().iter().map(Cell::get))
    }

    /// All cells of a whole matrix. By the invariant of `BlockMut` no other block covers any of
    /// them.
    fn whole(&mut self) -> &[Cell<i32>] {
        let Place { first, stride, size } = self.place;
        assert_eq!(stride, size, "this is not the whole matrix");
        &self.cells[first..][..size * size]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quadrants_cover_every_cell_once() {
        let mut covered = vec![0; 8 * 8];
        for quadrant in Place::whole(8).quadrants() {
            for small in quadrant.quadrants() {
                for i in 0..small.size {
                    let start = small.row(i);
                    covered[start..start + small.size].iter_mut().for_each(|count| *count += 1);
                }
            }
        }
        assert!(covered.iter().all(|&count| count == 1));
    }

    #[test]
    fn a_block_is_put_together_as_it_was_cut() {
        let whole = BlockMut::zero(64);
        let [first, second, third, fourth] = whole.split();
        let second = BlockMut::merge(second.split());
        let mut whole = BlockMut::merge([first, second, third, fourth]);
        whole.clear();
        assert_eq!(whole.size(), 64);
    }

    #[test]
    fn matrices_start_on_a_cache_line() {
        for n in [32, 64, 256] {
            let mut written = BlockMut::zero(n);
            assert_eq!(written.whole().as_ptr().addr() % 64, 0);
            for matrix in [Matrix::zero(n), Matrix::a(n, 7), Matrix::b(n, 7)] {
                assert_eq!(matrix.cells().as_ptr().addr() % 64, 0);
                assert_eq!(matrix.cells().len(), n * n);
            }
        }
    }

    #[test]
    #[should_panic(expected = "quadrants of one block")]
    fn quadrants_in_another_order_are_refused() {
        let [first, second, third, fourth] = BlockMut::zero(64).split();
        BlockMut::merge([second, first, third, fourth]);
    }

    #[test]
    #[should_panic(expected = "quadrants of one matrix")]
    fn quadrants_of_two_matrices_are_refused() {
        let [first, second, third, _] = BlockMut::zero(64).split();
        let [.., fourth] = BlockMut::zero(64).split();
        BlockMut::merge([first, second, third, fourth]);
    }

    #[test]
    #[should_panic(expected = "not the whole matrix")]
    fn a_part_is_not_summed() {
        let [mut first, ..] = BlockMut::zero(64).split();
        first.checksum();
    }
}
