//! What Markdown is written with: text in which nothing is markup, and tables.

use std::fmt::Write as _;

use crate::report::view::printable;

/// Text in which nothing is markup.
pub(in crate::report) fn text(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in printable(raw).chars() {
        match c {
            '\\' | '`' | '*' | '|' | '[' | ']' | '<' | '>' | '~' | '#' => {
                out.push('\\');
                out.push(c);
            }
            // An underscore inside a word is no markup, and names are full of them.
            '\n' | '\r' | '\t' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A table whose source is one too.
pub(in crate::report) struct Table {
    pub(in crate::report) heads: Vec<String>,
    pub(in crate::report) rows: Vec<Vec<String>>,
    /// How many columns are aligned to the left; those after them hold numbers.
    pub(in crate::report) left: usize,
}

impl Table {
    pub(super) fn new(heads: &[&str]) -> Self {
        Self { heads: heads.iter().map(|&head| head.into()).collect(), rows: Vec::new(), left: 1 }
    }

    pub(super) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    /// Columns are padded.
    pub(in crate::report) fn write(&self, out: &mut String) {
        let length = |text: &String| text.chars().count();
        let mut widths: Vec<usize> = self.heads.iter().map(|head| length(head).max(3)).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(length(cell));
            }
        }
        let mut line = |cells: &[String]| {
            out.push('|');
            for (i, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                let gap = " ".repeat(width - length(cell));
                let _ = if i < self.left {
                    write!(out, " {cell}{gap} |")
                } else {
                    write!(out, " {gap}{cell} |")
                };
            }
            out.push('\n');
        };
        line(&self.heads);
        let rule = |(i, width): (usize, &usize)| {
            if i < self.left { "-".repeat(*width) } else { format!("{}:", "-".repeat(width - 1)) }
        };
        line(&widths.iter().enumerate().map(rule).collect::<Vec<_>>());
        for row in &self.rows {
            line(row);
        }
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_no_markup() {
        assert_eq!(text("a|b <script> *x* `y`\nz_w"), "a\\|b \\<script\\> \\*x\\* \\`y\\` z_w");
    }
}
