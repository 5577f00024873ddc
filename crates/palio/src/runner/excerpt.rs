//! The beginning and the end of a text of any length, in bounded memory.

use std::collections::VecDeque;

use crate::printable::{is_invisible, printable};

/// How much is kept of each end: a panic's message comes first, a sanitizer's summary last.
const SIDE_BYTES: usize = 4 * 1024;

/// Takes any number of bytes and keeps the first and the last few KiB of them.
#[derive(Clone, Debug, Default)]
pub struct Excerpt {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out_bytes: u64,
}

impl Excerpt {
    pub fn push(&mut self, bytes: &[u8]) {
        let room = SIDE_BYTES - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(SIDE_BYTES);
        self.tail.drain(..excess);
        self.left_out_bytes += excess as u64;
    }

    /// Takes the last line away, with the empty one before it, if `read` knows it.
    pub fn take_last_line<T>(&mut self, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let text: Vec<u8> = self.head.iter().chain(&self.tail).copied().collect();
        let text = text.strip_suffix(b"\n")?;
        let start = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let known = read(std::str::from_utf8(&text[start..]).ok()?)?;
        // The line, its end, and the end of what precedes it.
        let taken = text.len() - start + 1 + usize::from(start > 0);
        let from_tail = taken.min(self.tail.len());
        self.tail.truncate(self.tail.len() - from_tail);
        self.head.truncate(self.head.len() - (taken - from_tail));
        Some(known)
    }

    /// The text, with a mark where something is left out, and without what would move or colour a
    /// terminal.
    pub fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let text = if self.left_out_bytes == 0 {
            // In one piece, or a character across the border would be two halves.
            String::from_utf8_lossy(&[&self.head[..], &tail].concat()).into_owned()
        } else {
            let (head, tail) =
                (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
            format!("{head}\n[… {} bytes left out …]\n{tail}", self.left_out_bytes)
        };
        let plain = console::strip_ansi_codes(text.trim_end());
        without_repeats(&printable(&plain))
    }
}

/// Says a line that comes again and again only once, and how often.
fn without_repeats(text: &str) -> String {
    /// Fewer are shown, since the mark is a line too.
    const REPEATS_MIN: usize = 3;
    let lines: Vec<&str> = text.split('\n').collect();
    let mut shown: Vec<String> = Vec::new();
    for same in lines.chunk_by(|a, b| a == b) {
        if same.len() < REPEATS_MIN || same[0].trim().is_empty() {
            shown.extend(same.iter().map(|&line| line.to_owned()));
        } else {
            shown.push(same[0].to_owned());
            shown.push(format!("[… the same line {} more times …]", same.len() - 1));
        }
    }
    shown.join("\n")
}

/// A word of a contender as a message shows it: short, and harmless on a terminal.
pub fn shown(word: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 80;
    let mut shown: String = word.chars().take(SHOWN_CHARS_MAX).flat_map(escaped_char).collect();
    if word.chars().nth(SHOWN_CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

/// A line of a contender in whole, harmless on a terminal.
pub(super) fn escaped(line: &str) -> String {
    line.chars().flat_map(escaped_char).collect()
}

fn escaped_char(c: char) -> impl Iterator<Item = char> {
    let (plain, escape) = if c.is_control() || is_invisible(c) {
        (None, Some(escape_of(c)))
    } else {
        (Some(c), None)
    };
    plain.into_iter().chain(escape.into_iter().flatten())
}

/// `\n` and `\u{202e}`.
fn escape_of(c: char) -> impl Iterator<Item = char> {
    let (short, long) = if c.is_control() {
        (Some(c.escape_debug()), None)
    } else {
        (None, Some(c.escape_unicode()))
    };
    short.into_iter().flatten().chain(long.into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(pieces: &[&[u8]]) -> Excerpt {
        let mut excerpt = Excerpt::default();
        pieces.iter().for_each(|piece| excerpt.push(piece));
        excerpt
    }

    #[test]
    fn what_fits_is_kept_whole() {
        assert_eq!(excerpt(&[b"one ", b"two\n"]).text(), "one two");
        let both_sides = "é".repeat(SIDE_BYTES);
        assert_eq!(excerpt(&[b"", both_sides.as_bytes()]).text(), both_sides);
    }

    #[test]
    fn the_middle_of_a_long_text_is_left_out_and_counted() {
        let text = excerpt(&[b"head ", &[b'.'; 3 * SIDE_BYTES], b" tail"]).text();
        assert!(text.starts_with("head ...") && text.ends_with("... tail"));
        assert!(text.contains(&format!("[… {} bytes left out …]", SIDE_BYTES + 10)), "{text}");
    }

    #[test]
    fn a_line_that_comes_again_is_said_once() {
        let text = excerpt(&[b"one\n", &b"two\n".repeat(500), b"three\nthree\nend"]).text();
        assert_eq!(text, "one\ntwo\n[… the same line 499 more times …]\nthree\nthree\nend");
    }

    #[test]
    fn terminals_are_safe() {
        let hidden = "\u{202e}\u{200b}!".as_bytes();
        let text = excerpt(&[b"\x1b[31mred\x1b[0m\x07 \xff\tend", hidden]).text();
        assert_eq!(text, "red\u{fffd} \u{fffd}\tend\u{fffd}\u{fffd}!");
        assert_eq!(shown("a\u{1b}[2J\u{200b}"), "a\\u{1b}[2J\\u{200b}");
        assert_eq!(shown(&"9".repeat(100)), "9".repeat(80) + "…");
    }

    #[test]
    fn the_last_line_is_taken_if_it_is_known() {
        let number = |line: &str| line.strip_prefix("n=")?.parse::<u32>().ok();
        for length in [0, 1, SIDE_BYTES - 3, SIDE_BYTES, 3 * SIDE_BYTES] {
            let mut excerpt = Excerpt::default();
            let text = "x".repeat(length);
            excerpt.push(text.as_bytes());
            excerpt.push(b"\nn=7\n");
            let before = excerpt.text();
            assert_eq!(excerpt.take_last_line(number), Some(7));
            assert_eq!(before, format!("{}\nn=7", excerpt.text()));
            assert_eq!(excerpt.take_last_line(number), None);
        }
    }
}
