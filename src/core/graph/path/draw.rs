//! Writes the markup of the picture. Colours come from the stylesheet, and everything else is in attributes.

use std::fmt::Write as _;

use super::layout::{PathLayout, PathPlace, PathText, ROW};
use crate::graph::markup;
use crate::graph::svg::{FONTS, Svg};
use crate::graph::text::{number, one_line};
use crate::text::escape;

/// Writes a picture of the given shape, with a label for screen readers.
pub(super) fn svg(shape: &str, label: &str, layout: &PathLayout) -> Svg {
    let (width, height) = (layout.width.ceil(), layout.height.ceil());
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg class=\"graph path {shape}\" role=\"group\" aria-label=\"{}\" width=\"{2}\" height=\"{3}\" \
         viewBox=\"0 {4} {2} {3}\" font-family=\"{1}\" fill=\"currentColor\">",
        escape(&one_line(label)),
        FONTS,
        number(width),
        number(height),
        number(layout.top)
    );
    out.push_str("<g class=\"strokes\" fill=\"none\" stroke=\"currentColor\" stroke-linejoin=\"round\">\n");
    for stroke in &layout.strokes {
        let cap = if stroke.is_dashed { " stroke-dasharray=\"9 6\"" } else { " stroke-linecap=\"round\"" };
        let _ = writeln!(
            out,
            "<path class=\"{}\" stroke-width=\"{}\"{cap} d=\"{}\"/>",
            stroke.class,
            number(stroke.width),
            stroke.course
        );
    }
    out.push_str("</g>\n");
    for place in &layout.places {
        write_place(&mut out, place, width);
    }
    out.push_str("</svg>\n");
    Svg { markup: out, width, height }
}

fn write_place(out: &mut String, place: &PathPlace, width: f64) {
    let title = one_line(&place.title);
    let tag = markup::open(out, place.class.trim_end(), None, place.href.as_deref(), &title);
    let areas = || place.texts.iter().map(PathText::area);
    let left = areas().map(|it| it.left).fold(f64::INFINITY, f64::min) - 4.0;
    let right = (areas().map(|it| it.right).fold(0.0, f64::max) + 4.0).min(width - 1.0);
    let (top, bottom) = (
        areas().map(|it| it.top).fold(f64::INFINITY, f64::min),
        areas().map(|it| it.bottom).fold(0.0, f64::max),
    );
    if right > left {
        let more = ((ROW - (bottom - top)) / 2.0).max(2.0);
        let bounds = [left, top - more, right - left, bottom - top + 2.0 * more].map(number);
        markup::rect(out, "hit", bounds, " rx=\"4\" fill=\"none\" pointer-events=\"all\"");
    }
    if let Some(dot) = &place.dot {
        let (x, y) = (number(dot.x), number(dot.y));
        let _ = write!(
            out,
            "<circle class=\"dot\" cx=\"{x}\" cy=\"{y}\" r=\"{}\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"3.5\"/>",
            number(dot.radius)
        );
        if !dot.sign.is_empty() {
            let style = format!(
                " text-anchor=\"middle\" font-size=\"{}\" font-weight=\"700\" aria-hidden=\"true\"",
                number(dot.radius * 1.15)
            );
            markup::text(out, "dot-sign", [&x, &number(dot.y + dot.radius * 0.4)], &style, dot.sign);
        }
    }
    for text in &place.texts {
        let weight = if text.class == "found" { " font-weight=\"600\"" } else { "" };
        let style = format!(" font-size=\"{}\"{weight}", number(text.size));
        markup::text(out, text.class, [&number(text.x), &number(text.y)], &style, &text.text);
    }
    let _ = writeln!(out, "</{tag}>");
}
