//! Lines of text for a terminal: wrapped, in columns, painted. Pure.

use std::fmt::Write as _;

use super::view::printable;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    Plain,
    Strong,
    Faint,
    Good,
    Bad,
}

/// Where the text goes: so many columns, with colours or without.
#[derive(Clone, Copy)]
pub(super) struct Paper {
    pub(super) width: usize,
    pub(super) color: bool,
}

/// What a text has for itself at least beside what leads it; narrower, and it is a column of words.
const INDENTED_MIN: usize = 10;
/// By how much a text is indented below a lead that leaves it less.
const INDENT: usize = 4;

impl Paper {
    pub(super) fn bare() -> Self {
        Self { width: usize::MAX, color: false }
    }

    /// Everything that is shown passes here or through [`wrap`], and comes out as one clean line.
    pub(super) fn paint(self, ink: Ink, text: &str) -> String {
        let text = one_line(text);
        let code = match ink {
            Ink::Strong => "1",
            Ink::Faint => "2",
            Ink::Good => "32",
            Ink::Bad => "31",
            Ink::Plain => return text,
        };
        if self.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text }
    }

    /// Text broken at spaces, with `lead` before its first line and nothing before the others.
    pub(super) fn prose(self, out: &mut String, lead: &str, text: &str) {
        for line in wrap(&format!("{lead}{text}"), self.width) {
            let _ = writeln!(out, "{line}");
        }
    }

    /// The first line of a part, which on a narrow terminal is several.
    pub(super) fn heading(self, out: &mut String, text: &str) {
        for line in wrap(text, self.width) {
            let _ = writeln!(out, "{}", self.paint(Ink::Strong, &line));
        }
    }

    /// Text broken at spaces, all lines indented by the painted `lead` of the first. A lead that
    /// leaves it no room stands above it.
    pub(super) fn hanging(self, out: &mut String, lead: &str, ink: Ink, text: &str) {
        let indent = lead.chars().count();
        if indent > INDENT && self.width.saturating_sub(indent) < INDENTED_MIN {
            for line in wrap(lead, self.width) {
                let _ = writeln!(out, "{}", self.paint(ink, &line));
            }
            return self.hanging(out, &" ".repeat(INDENT), Ink::Plain, text);
        }
        let width = self.width.saturating_sub(indent).max(INDENTED_MIN);
        for (i, line) in wrap(text, width).iter().enumerate() {
            let lead = if i == 0 { self.paint(ink, lead) } else { " ".repeat(indent) };
            let _ = writeln!(out, "{lead}{line}");
        }
    }
}

pub(super) fn one_line(text: &str) -> String {
    printable(text).replace(['\n', '\t'], " ")
}

pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in one_line(text).split_whitespace() {
        let last = lines.last_mut().expect("there is always a line");
        let length = last.chars().count();
        if length > 0 && length + 1 + word.chars().count() > width {
            lines.push(word.into());
        } else {
            if length > 0 {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

pub(super) struct Cell {
    pub(super) text: String,
    pub(super) ink: Ink,
}

impl Cell {
    pub(super) fn plain(text: &str) -> Self {
        Self { text: one_line(text), ink: Ink::Plain }
    }
}

pub(super) struct Table<'a> {
    pub(super) heads: Vec<&'a str>,
    /// Columns aligned to the left; the others hold numbers.
    pub(super) left: Vec<usize>,
    pub(super) rows: Vec<Vec<Cell>>,
}

impl<'a> Table<'a> {
    pub(super) fn new(heads: &[&'a str]) -> Self {
        Self { heads: heads.to_vec(), left: Vec::new(), rows: Vec::new() }
    }

    /// Without the column of this number.
    pub(super) fn drop_column(&mut self, column: usize) {
        self.heads.remove(column);
        for row in &mut self.rows {
            row.remove(column);
        }
        let left = self.left.iter().filter(|&&other| other != column);
        self.left = left.map(|&other| if other > column { other - 1 } else { other }).collect();
    }

    pub(super) fn head_cells(&self) -> Vec<Cell> {
        self.heads.iter().map(|head| Cell::plain(head)).collect()
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.heads.iter().map(|head| head.chars().count()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.chars().count());
            }
        }
        widths
    }

    pub(super) fn width(&self) -> usize {
        let widths = self.widths();
        widths.iter().sum::<usize>() + 2 * (widths.len() - 1)
    }

    pub(super) fn line(&self, cells: &[Cell], paper: Paper) -> String {
        let mut line = String::new();
        for (i, (cell, width)) in cells.iter().zip(self.widths()).enumerate() {
            let gap = " ".repeat(width - cell.text.chars().count());
            let text = paper.paint(cell.ink, &cell.text);
            let between = if i > 0 { "  " } else { "" };
            if self.left.contains(&i) {
                let _ = write!(line, "{between}{text}{gap}");
            } else {
                let _ = write!(line, "{between}{gap}{text}");
            }
        }
        line
    }

    pub(super) fn write(&self, out: &mut String, paper: Paper) {
        let head = self.line(&self.head_cells(), Paper::bare());
        let _ = writeln!(out, "{}", paper.paint(Ink::Faint, head.trim_end()));
        for row in &self.rows {
            let _ = writeln!(out, "{}", self.line(row, paper).trim_end());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lead_that_leaves_no_room_stands_above_its_text() {
        let paper = Paper { width: 20, color: false };
        let hanging = |lead: &str| {
            let mut out = String::new();
            paper.hanging(&mut out, lead, Ink::Plain, "one two three");
            out
        };
        assert_eq!(hanging("warning:  "), "warning:  one two\n          three\n");
        assert_eq!(hanging("good@dial=7  "), "good@dial=7\n    one two three\n");
    }

    #[test]
    fn words_wrap_at_the_width_and_long_ones_stand_alone() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a incomprehensible b", 5), ["a", "incomprehensible", "b"]);
    }
}
