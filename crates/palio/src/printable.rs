//! Text of unknown origin, made safe to show. Pure.

/// Text of unknown origin made safe to show: without the escape sequences that would colour a
/// terminal or move its cursor, and without control characters and invisible ones, which turn the
/// direction of reading or make two different names look alike.
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
            c if c.is_control() || is_invisible(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A document of JSON in which what [`printable`] replaces is escaped: the same document, since
/// such characters can stand in its texts alone.
#[must_use]
pub(crate) fn json(document: &str) -> String {
    let mut out = String::with_capacity(document.len());
    for c in document.chars() {
        if c != '\n' && (c.is_control() || is_invisible(c)) {
            let mut units = [0; 2];
            let escaped = c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}"));
            out.extend(escaped);
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether a character that is no control has no shape of its own: marks of direction, joiners,
/// separators of lines, fillers, and tags.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_drive_a_terminal() {
        assert_eq!(printable("\u{1b}[31mred\u{1b}[0m\r\nnext\u{7}"), "red\nnext\u{fffd}");
        assert_eq!(printable("50%\r100%"), "50%\n100%");
        assert_eq!(printable("a\u{202e}b"), "a\u{fffd}b");
        for invisible in ['\u{200b}', '\u{2028}', '\u{feff}', '\u{e0041}', '\u{ad}', '\u{200f}'] {
            assert_eq!(printable(&format!("go{invisible}")), "go\u{fffd}", "{invisible:?}");
        }
        assert_eq!(printable("µs · 2⁶⁴ ≥ ü 中 é"), "µs · 2⁶⁴ ≥ ü 中 é");
    }

    #[test]
    fn json_is_escaped_and_stays_the_same_document() {
        let text = "µ\u{202e}\u{9b}2J\u{7f}\u{e0041}\u{1b}[2J\n";
        let document = serde_json::to_string_pretty(&[text]).unwrap();
        let escaped = json(&document);
        assert_eq!(escaped, "[\n  \"µ\\u202e\\u009b2J\\u007f\\udb40\\udc41\\u001b[2J\\n\"\n]");
        assert_eq!(serde_json::from_str::<[String; 1]>(&escaped).unwrap(), [text]);
    }
}
