//! Writes SVG elements. Text and addresses are escaped in this module.

use std::fmt::Write as _;

use super::text::one_line;
use crate::text::escape;

/// Opens a link, or a group if there is no address, and returns the element's name.
pub(super) fn open(
    out: &mut String,
    class: &str,
    id: Option<String>,
    href: Option<&str>,
    title: &str,
) -> &'static str {
    let tag = if href.is_some() { "a" } else { "g" };
    let _ = write!(out, "<{tag} class=\"{class}\"");
    if let Some(id) = id {
        let _ = write!(out, " id=\"{}\"", escape(&one_line(&id)));
    }
    if let Some(href) = href {
        let _ = write!(out, " href=\"{}\"", escape(&one_line(href)));
    }
    let _ = write!(out, "><title>{}</title>", escape(title));
    tag
}

/// Writes a rectangle with an optional class, its bounds (x, y, width, height) and further attributes.
pub(super) fn rect(out: &mut String, class: &str, [x, y, width, height]: [String; 4], more: &str) {
    let class = attribute(class);
    let _ = write!(out, "<rect{class} x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"{more}/>");
}

/// Writes text with an optional class, its position and further attributes.
pub(super) fn text(out: &mut String, class: &str, [x, y]: [&str; 2], more: &str, text: &str) {
    let _ = write!(out, "<text{} x=\"{x}\" y=\"{y}\"{more}>{}</text>", attribute(class), escape(text));
}

fn attribute(class: &str) -> String {
    if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") }
}
