//! Writing HTML: escaped text and a few shapes that recur.
//!
//! End tags that HTML lets one omit are omitted: a report has thousands of table cells, and it has
//! to stay small.

use crate::report::view::printable;

/// Appends formatted text to a `String`, which cannot fail.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{
        use std::fmt::Write as _;
        let _ = write!($out, $($arg)*);
    }};
}
pub(super) use put;

/// Text as text: safe between tags and in attributes in double quotes, the only quotes used here.
pub(in crate::report) fn esc(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in printable(raw).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// Text inside single quotes of a stylesheet, in an element or an attribute: all but letters,
/// digits and spaces as numbers, each of which ends with a space.
pub(super) fn css(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in printable(raw).chars() {
        match c {
            c if c.is_ascii_alphanumeric() || c == ' ' => out.push(c),
            c => put!(out, "\\{:x} ", u32::from(c)),
        }
    }
    out
}

/// Begins a section that the navigation can point to.
pub(super) fn section(out: &mut String, id: &str, title: &str, lead: &str) {
    put!(out, "<section id={id} aria-labelledby={id}-h>\n<h2 id={id}-h>{title}</h2>\n");
    if !lead.is_empty() {
        put!(out, "<p class=lead>{lead}</p>\n");
    }
}

/// The mark in a contender's colour and shape that ties tables to charts.
pub(super) fn key(out: &mut String, hue: usize) {
    put!(out, "<i class=\"key k{} q{}\"></i>", colour(hue), shape(hue));
}

/// Which of four shapes a contender has where colour cannot tell: circle, square, diamond,
/// triangle. It moves on by one more after each round of colours, so that forty-eight are
/// different.
pub(super) fn shape(hue: usize) -> usize {
    (hue + hue / 12) % 4
}

/// A workload's name: its family in the background, and room to break after a slash or an
/// underscore, so that long names do not widen a table.
pub(super) fn workload(name: &str) -> String {
    let breakable = |text: &str| esc(text).replace('/', "/<wbr>").replace('_', "_<wbr>");
    match name.split_once('/') {
        None => breakable(name),
        Some((family, rest)) => {
            format!("<span class=family>{}/<wbr></span>{}", breakable(family), breakable(rest))
        }
    }
}

/// Which of the stylesheet's twelve colours a contender has.
pub(super) fn colour(hue: usize) -> usize {
    hue % 12
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_a_stylesheet_cannot_end_it() {
        assert_eq!(css("p99 a'}<\"\\é"), "p99 a\\27 \\7d \\3c \\22 \\5c \\e9 ");
    }

    #[test]
    fn nothing_escapes_from_text_or_attribute() {
        assert_eq!(esc("</script>\"'&\u{1b}[1m"), "&lt;/script&gt;&quot;'&amp;");
    }
}
