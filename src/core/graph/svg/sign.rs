//! A small sign for each role, so that states are not distinguished by colour alone. Signs are paths, because letters
//! would need a font.

use std::fmt::Write as _;

use super::Svg;
use crate::graph::palette;
use crate::graph::text::number;
use crate::ruleset::Role;

/// The width and height of a sign in CSS pixels.
pub(super) const SIZE: f64 = 9.0;

const RING: &str = "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0";

/// Returns the sign of a role, or of a proposal if `role` is `None`, as a separate picture for legends.
pub fn sign(role: Option<Role>) -> Svg {
    let mut markup = String::from(
        "<svg class=\"graph-sign\" width=\"12\" height=\"12\" viewBox=\"0 0 12 12\" aria-hidden=\"true\">",
    );
    write(&mut markup, role, class(role), 6.0, 6.0);
    markup.push_str("</svg>");
    Svg { markup, width: 12.0, height: 12.0 }
}

/// Returns the CSS class of a sign. That of an answer depends on its verdict.
pub(in crate::graph) fn class(role: Option<Role>) -> &'static str {
    match role {
        None => "proposed",
        Some(Role::Solution | Role::Confirmation) => "answer",
        Some(role) => palette::class(role),
    }
}

/// Draws the sign of a role, or of a proposal if `role` is `None`, centred on a point.
pub(in crate::graph) fn write(out: &mut String, role: Option<Role>, class: &str, x: f64, y: f64) {
    let path = match role {
        None | Some(Role::Open) => RING,
        Some(Role::AwaitingConfirmation) => "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0m4-2.2v2.2h1.8",
        Some(Role::Solution) => "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0m3.2 0h1.6",
        Some(Role::Confirmation) => "m-4 .5 2.8 3 5-7",
        Some(Role::Theory) => "m0-4.5 4.5 4.5-4.5 4.5-4.5-4.5z",
        Some(Role::Exhausted) => "m-4 0h8",
        Some(Role::DeadEnd) => "m-3.5-3.5 7 7m0-7-7 7",
    };
    let _ = write!(
        out,
        "<path class=\"sign {class}\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.8\"{} d=\"M{} {}{path}\"/>",
        if role.is_none() { " stroke-dasharray=\"2.2 2\"" } else { "" },
        number(x),
        number(y)
    );
}
