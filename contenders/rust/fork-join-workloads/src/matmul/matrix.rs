//! Square matrices of 32-bit floats, row by row.

/// A square matrix.
#[derive(Clone, Debug)]
pub struct Matrix {
    n: usize,
    cells: Vec<f32>,
}

impl Matrix {
    /// All zeros.
    pub fn zero(n: usize) -> Self {
        Self { n, cells: vec![0.0; n * n] }
    }

    /// The left factor.
    pub fn a(n: usize) -> Self {
        Self::filled(n, |i, j| ((i + 2 * j) % 5) as f32)
    }

    /// The right factor.
    pub fn b(n: usize) -> Self {
        Self::filled(n, |i, j| ((3 * i + j) % 7) as f32)
    }

    fn filled(n: usize, cell: impl Fn(usize, usize) -> f32) -> Self {
        let cells = (0..n * n).map(|at| cell(at / n, at % n)).collect();
        Self { n, cells }
    }

    /// Sets every cell to zero.
    pub fn clear(&mut self) {
        self.cells.fill(0.0);
    }

    /// The answer of the workload. Every cell is a small whole number, so nothing is lost in the conversion.
    pub fn checksum(&self) -> u64 {
        let weighed = |(at, &cell): (usize, &f32)| {
            let (i, j) = (at / self.n, at % self.n);
            cell as u64 * (1 + (i as u64 + 3 * j as u64) % 11)
        };
        self.cells.iter().enumerate().map(weighed).sum()
    }

    pub(super) const fn n(&self) -> usize {
        self.n
    }

    pub(super) fn cells(&self) -> &[f32] {
        &self.cells
    }

    pub(super) fn cells_mut(&mut self) -> &mut [f32] {
        &mut self.cells
    }

    pub(super) fn into_cells(self) -> Vec<f32> {
        self.cells
    }

    pub(super) fn from_cells(n: usize, cells: Vec<f32>) -> Self {
        Self { n, cells }
    }
}
