//! Marked places of Markdown documents: where they are, between their two markers.
//!
//! ```text
//! the mean is <!-- palio: nio headline go geomean -->1.31<!-- /palio -->.
//! ```
//!
//! A place is inline, as above, or a block whose markers have lines of their own. Markers in fenced
//! code and between backticks are examples.

use std::ops::Range;

/// A marked place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The line of its first marker, from 1.
    pub(crate) line: usize,
    /// What is between `palio:` and the end of the first marker.
    pub(crate) order: String,
    /// The bytes between the two markers.
    pub(crate) content: Range<usize>,
    pub(crate) block: bool,
}

/// Something wrong with the markers of a document: a line, and a sentence.
pub(crate) type Wrong = (usize, String);

const OPENING: &str = "palio:";
const CLOSING: &str = "/palio";

/// All places of a document in order, and what is wrong with its markers.
pub(crate) fn places(text: &str) -> (Vec<Place>, Vec<Wrong>) {
    let (mut places, mut wrong) = (Vec::new(), Vec::new());
    let mut open: Option<Open> = None;
    for (number, start, line) in prose(text) {
        for marker in markers(line) {
            let Marker { at, end, body } = marker;
            let (before, after) = (&line[..at], &line[end..]);
            if body == CLOSING {
                match open.take() {
                    None => wrong.push((number, "this marker closes nothing".to_owned())),
                    Some(open) => {
                        let alone = open.alone && before.trim().is_empty() && open.line < number;
                        if alone && after.trim().is_empty() || !open.alone && open.line == number {
                            places.push(Place {
                                line: open.line,
                                order: open.order,
                                content: open.end..start + at,
                                block: alone,
                            });
                        } else {
                            wrong.push((open.line, SHAPE.to_owned()));
                        }
                    }
                }
            } else if let Some(order) = body.strip_prefix(OPENING) {
                if let Some(open) = open.take() {
                    wrong.push((open.line, unclosed(&open.order)));
                }
                let (order, first) = (order.trim().to_owned(), before.trim().is_empty());
                let alone = first && after.trim().is_empty();
                if first && !alone {
                    wrong.push((number, FIRST.to_owned()));
                }
                open = Some(Open { line: number, order, end: start + end, alone });
            } else {
                wrong.push((number, format!("<!-- {body} --> is not a marker: {SYNTAX}")));
            }
        }
    }
    if let Some(open) = open {
        wrong.push((open.line, unclosed(&open.order)));
    }
    (places, wrong)
}

struct Open {
    line: usize,
    order: String,
    /// The byte behind the first marker.
    end: usize,
    /// Whether nothing else is on its line.
    alone: bool,
}

const SYNTAX: &str = "one begins with `palio:`, and is closed by `<!-- /palio -->`";
const SHAPE: &str =
    "an inline place ends on its line, and the markers of a block have lines of their own";
const FIRST: &str = "a line that begins with a marker is HTML, and Markdown in it is not read: put a word before it";

fn unclosed(order: &str) -> String {
    format!("the place {order:?} is not closed: `<!-- /palio -->` is missing")
}

/// Lines outside of fenced code: number, first byte, text.
fn prose(text: &str) -> impl Iterator<Item = (usize, usize, &str)> {
    let (mut fenced, mut start) = (false, 0);
    (1..).zip(text.split_inclusive('\n')).filter_map(move |(number, line)| {
        let at = start;
        start += line.len();
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then(|| (number, at, line.trim_end_matches(['\n', '\r'])))
    })
}

struct Marker<'a> {
    at: usize,
    end: usize,
    body: &'a str,
}

/// The comments of a line that are meant as markers.
fn markers(line: &str) -> impl Iterator<Item = Marker<'_>> {
    line.match_indices("<!--").filter_map(|(at, opening)| {
        let quoted = line[..at].matches('`').count() % 2 == 1;
        let rest = &line[at + opening.len()..];
        let (body, end) = match rest.find("-->") {
            Some(length) => (&rest[..length], at + opening.len() + length + "-->".len()),
            None => (rest, line.len()),
        };
        let body = body.trim();
        let meant = body.trim_start_matches('/').trim_start().starts_with("palio");
        (meant && !quoted).then_some(Marker { at, end, body })
    })
}

/// The document without what is in its places and in its code: every such byte is a space, so that
/// lines stay where they are.
pub(crate) fn unmarked(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut blank = |range: Range<usize>| {
        bytes[range].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    };
    for place in places(text).0 {
        blank(place.content);
    }
    let mut end = 0;
    for (_, start, line) in prose(text) {
        blank(end..start);
        end = start + line.len();
        let mut ticks = line.match_indices('`').map(|(at, _)| start + at);
        while let (Some(from), Some(to)) = (ticks.next(), ticks.next()) {
            blank(from..to);
        }
        // Comments, with the order of a place.
        for (at, _) in line.match_indices("<!--") {
            let length = line[at..].find("-->").unwrap_or(line.len() - at);
            blank(start + at..start + at + length);
        }
    }
    blank(end..text.len());
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, String, String, bool)> {
        let (places, wrong) = places(text);
        assert_eq!(wrong, []);
        let each = places.into_iter();
        each.map(|p| (p.line, p.order, text[p.content].to_owned(), p.block)).collect()
    }

    fn wrong(text: &str) -> Vec<Wrong> {
        places(text).1
    }

    #[test]
    fn inline_places_and_blocks_are_found() {
        let text = "A\n\nis <!-- palio: a b -->1<!-- /palio --> or <!--palio:c-->2<!--/palio-->.\n\n\
                    <!-- palio: d -->\n\n| x |\n\n```sh\n<!-- palio: e -->\n```\n<!-- /palio -->\n";
        let places = found(text);
        assert_eq!(places[0], (3, "a b".into(), "1".into(), false));
        assert_eq!(places[1], (3, "c".into(), "2".into(), false));
        let block = "\n\n| x |\n\n```sh\n<!-- palio: e -->\n```\n";
        assert_eq!(places[2], (5, "d".into(), block.into(), true));
        assert_eq!(places.len(), 3);
    }

    #[test]
    fn examples_and_other_comments_are_no_places() {
        let text = "See `<!-- palio: a -->1<!-- /palio -->`.\n<!-- a note -->\n```\n<!-- palio: b -->\n```\n";
        assert_eq!(found(text), []);
    }

    #[test]
    fn what_is_not_closed_is_named_with_its_line() {
        let message = |order: &str| {
            format!("the place {order:?} is not closed: `<!-- /palio -->` is missing")
        };
        assert_eq!(wrong("\nis <!-- palio: a -->1\n"), [(2, message("a"))]);
        let two = "is <!-- palio: a -->1\nis <!-- palio: b -->2<!-- /palio -->";
        assert_eq!(wrong(two), [(1, message("a"))]);
        assert_eq!(places(two).0.len(), 1);
        assert_eq!(wrong("x\ny <!-- /palio -->"), [(2, "this marker closes nothing".to_owned())]);
    }

    #[test]
    fn what_is_no_marker_is_named_with_its_line() {
        for text in
            ["is <!-- palio a -->1", "is <!-- palio: a", "is <!-- / palio -->", "<!-- palios: -->"]
        {
            assert_eq!(wrong(text).len(), 1, "{text}");
            assert_eq!(wrong(text)[0].0, 1, "{text}");
        }
    }

    #[test]
    fn shapes_that_markdown_does_not_read_are_refused() {
        for text in [
            "is <!-- palio: a -->1\n2<!-- /palio -->",
            "<!-- palio: a -->\n1 <!-- /palio -->",
            "<!-- palio: a -->\n1\n<!-- /palio --> more",
            "is <!-- palio: a -->\n1\n<!-- /palio -->",
        ] {
            assert_eq!(wrong(text), [(1, SHAPE.to_owned())], "{text}");
        }
        assert_eq!(wrong("<!-- palio: a -->1<!-- /palio --> x"), [(1, FIRST.to_owned())]);
    }

    #[test]
    fn only_what_is_neither_marked_nor_code_is_left() {
        let text =
            "a 1.2 `3.4` b <!-- palio: quote 5.6 -->7.8<!-- /palio --> 9\n```\n0.1\n```\nµ 2.3\n";
        let left = unmarked(text);
        assert_eq!(left.lines().count(), 5);
        assert_eq!(
            left.split_whitespace()
                .filter(|word| !word.contains(['`', '-', '>']))
                .collect::<Vec<_>>(),
            ["a", "1.2", "b", "9", "µ", "2.3"]
        );
    }
}
