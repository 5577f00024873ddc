//! Square matrices of 32-bit integers, row by row.

use palio_protocol::salt::mix;

/// Bytes of a cache line. Every matrix starts on one, in every language: allocators return large
/// blocks 16 bytes behind one or not, and where they do, every load of a whole vector touches two
/// lines and the kernel takes twice as long.
const LINE: usize = 64;

/// How many cells more than its own a matrix allocates, so that one of the first starts a cache
/// line.
const SPARE_CELLS: usize = LINE / size_of::<i32>() - 1;

/// Cells to allocate for a matrix of `n` rows, counted without overflow: that the blocks of a
/// matrix do not overlap depends on it.
pub(super) fn allocated_cells(n: usize) -> usize {
    let cells = n.checked_mul(n).and_then(|cells| cells.checked_add(SPARE_CELLS));
    cells.expect("a matrix fits the address space")
}

/// The first cell that starts a cache line.
pub(super) fn first_on_line<T>(cells: &[T]) -> usize {
    cells.as_ptr().align_offset(LINE)
}

/// A square matrix. Not `Clone`: in a copy, another cell may be the first on a line.
#[derive(Debug)]
pub struct Matrix {
    n: usize,
    /// With the cells before the first line and behind the matrix.
    allocated: Vec<i32>,
}

impl Matrix {
    /// All zeros.
    pub fn zero(n: usize) -> Self {
        Self { n, allocated: vec![0; allocated_cells(n)] }
    }

    /// The left factor.
    pub fn a(n: usize, salt: u64) -> Self {
        Self::filled(n, |at| (mix(salt, at as u64) % 5) as i32)
    }

    /// The right factor, whose cells are numbered on from those of the left one.
    pub fn b(n: usize, salt: u64) -> Self {
        Self::filled(n, |at| (mix(salt, (n * n + at) as u64) % 7) as i32)
    }

    fn filled(n: usize, cell: impl Fn(usize) -> i32) -> Self {
        let mut matrix = Self::zero(n);
        for (at, filled) in matrix.cells_mut().iter_mut().enumerate() {
            *filled = cell(at);
        }
        matrix
    }

    /// Sets every cell to zero.
    pub fn clear(&mut self) {
        self.cells_mut().fill(0);
    }

    /// The answer of the workload.
    pub fn checksum(&self) -> u64 {
        checksum(self.n, self.cells().iter().copied())
    }

    pub(super) const fn n(&self) -> usize {
        self.n
    }

    pub(super) fn cells(&self) -> &[i32] {
        &self.allocated[first_on_line(&self.allocated)..][..self.n * self.n]
    }

    pub(super) fn cells_mut(&mut self) -> &mut [i32] {
        let first = first_on_line(&self.allocated);
        &mut self.allocated[first..][..self.n * self.n]
    }
}

/// The answer of the workload, from the cells of a matrix of `n` rows, none of them negative.
pub(super) fn checksum(n: usize, cells: impl Iterator<Item = i32>) -> u64 {
    let weighed = |(at, cell): (usize, i32)| {
        let (i, j) = (at / n, at % n);
        cell as u64 * (1 + (i as u64 + 3 * j as u64) % 11)
    };
    cells.enumerate().map(weighed).sum()
}
