//! Text of unknown origin, made safe to show. Pure.

/// Text of unknown origin made safe to show: without the escape sequences that would colour a
/// terminal or move its cursor, and without control characters or those that turn the direction of
/// reading.
#[must_use]
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' if chars.peek() == Some(&'[') => {
                chars.next();
                // A control sequence ends with its first byte in this range.
                for c in chars.by_ref() {
                    if ('@'..='~').contains(&c) {
                        break;
                    }
                }
            }
            '\n' | '\t' => out.push(c),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => out.push('\n'),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_drive_a_terminal() {
        assert_eq!(printable("\u{1b}[31mred\u{1b}[0m\r\nnext\u{7}"), "red\nnext\u{fffd}");
        assert_eq!(printable("50%\r100%"), "50%\n100%");
        assert_eq!(printable("a\u{202e}b"), "a\u{fffd}b");
    }
}
