//! The sections that are plain tables, with a drawing above those of latencies.

use super::latency;
use super::markup::{esc, put, section};
use crate::report::sheet::Section;
use crate::report::view::View;

pub(super) fn write(out: &mut String, view: &View<'_>, sections: &[Section]) {
    for Section { id, title, lead, sheets } in sections {
        section(out, id, title, &esc(lead));
        if *id == "latency" {
            latency::write(out, view);
        }
        for sheet in sheets {
            let caption = esc(&sheet.caption);
            put!(
                out,
                "<h3>{caption}</h3>\n<div class=scroll tabindex=0 role=region aria-label=\"{caption}\">\n\
                 <table class=sortable>\n<thead><tr>"
            );
            for (i, head) in sheet.heads.iter().enumerate() {
                put!(out, "<th scope=col{}>{}", if i == 0 { "" } else { " class=n" }, esc(head));
            }
            out.push_str("\n<tbody>\n");
            for row in &sheet.rows {
                out.push_str("<tr>");
                for (i, cell) in row.iter().enumerate() {
                    put!(
                        out,
                        "{}{}",
                        if i == 0 { "<th scope=row>" } else { "<td class=n>" },
                        esc(cell)
                    );
                }
                out.push('\n');
            }
            out.push_str("</table>\n</div>\n");
            for note in &sheet.notes {
                put!(out, "<p class=note>{}.</p>\n", esc(note));
            }
        }
        out.push_str("</section>\n");
    }
}
