//! The colours of pictures in light and dark, and the stylesheet that uses them.

use std::fmt::Write as _;

use crate::ruleset::Role;

/// A colour of pictures: a CSS custom property with its values on light and dark pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    /// The custom property, such as `--role-open`.
    pub name: &'static str,
    /// The value on a light page.
    pub light: &'static str,
    /// The value on a dark page.
    pub dark: &'static str,
}

const fn colour(name: &'static str, light: &'static str, dark: &'static str) -> Colour {
    Colour { name, light, dark }
}

pub(super) const BACKGROUND: Colour = colour("--graph-background", "#ffffff", "#0d1117");
pub(super) const CARD: Colour = colour("--graph-card", "#ffffff", "#1a212a");
pub(super) const CARD_MUTED: Colour = colour("--graph-card-muted", "#f3f5f7", "#12171e");
pub(super) const BORDER: Colour = colour("--graph-border", "#c5ccd4", "#3d444d");
pub(super) const TEXT: Colour = colour("--graph-text", "#1f2328", "#e6edf3");
pub(super) const QUIET: Colour = colour("--graph-quiet", "#59636e", "#9da7b3");
pub(super) const EDGE: Colour = colour("--graph-edge", "#a3acb6", "#606873");
/// Reserved for doubt.
pub const DOUBT: Colour = colour("--graph-doubt", "#8a5a00", "#e3b341");
const OPEN: Colour = colour("--role-open", "#2666bd", "#58a6ff");
const SOLUTION: Colour = colour("--role-solution", "#1a7f37", "#3fb950");
const CONFIRMATION: Colour = colour("--role-confirmation", "#1a7f37", "#3fb950");
const AWAITING: Colour = colour("--role-awaitingConfirmation", "#0f6f7c", "#39c5cf");
const THEORY: Colour = colour("--role-theory", "#7a45d1", "#bc8cff");
const EXHAUSTED: Colour = colour("--role-exhausted", "#6e7781", "#8b949e");
const DEAD_END: Colour = colour("--role-deadEnd", "#b3373a", "#f47067");

/// All roles in legend order.
pub const ROLES: [Role; 7] = [
    Role::Open,
    Role::AwaitingConfirmation,
    Role::Solution,
    Role::Confirmation,
    Role::Theory,
    Role::Exhausted,
    Role::DeadEnd,
];

/// All colours. Text reaches WCAG AA contrast (4.5:1) on cards, and bars reach 3:1, in light and dark.
pub fn palette() -> [Colour; 15] {
    [
        BACKGROUND,
        CARD,
        CARD_MUTED,
        BORDER,
        TEXT,
        QUIET,
        EDGE,
        DOUBT,
        OPEN,
        AWAITING,
        SOLUTION,
        CONFIRMATION,
        THEORY,
        EXHAUSTED,
        DEAD_END,
    ]
}

/// The colour of a role.
pub fn role(role: Role) -> Colour {
    match role {
        Role::Open => OPEN,
        Role::AwaitingConfirmation => AWAITING,
        Role::Solution => SOLUTION,
        Role::Theory => THEORY,
        Role::Confirmation => CONFIRMATION,
        Role::Exhausted => EXHAUSTED,
        Role::DeadEnd => DEAD_END,
    }
}

/// The CSS class of a role: `role-deadEnd`.
pub fn class(of: Role) -> &'static str {
    role(of).name.trim_start_matches('-')
}

/// The stylesheet of a standalone picture: custom properties for light and dark, and the rules that use them. Pages can
/// include it in their own stylesheet.
pub fn stylesheet() -> String {
    let mut css = String::from(".graph{");
    for colour in palette() {
        let _ = write!(css, "{}:{};", colour.name, colour.light);
    }
    css.push_str("}\n@media (prefers-color-scheme:dark){.graph{");
    for colour in palette() {
        let _ = write!(css, "{}:{};", colour.name, colour.dark);
    }
    css.push_str("}}\n");
    let mut rule = |selector: &str, property: &str, colour: Colour| {
        // Programs without support for custom properties (librsvg, Inkscape) use the first value.
        let _ = writeln!(css, "{selector}{{{property}:{};{property}:var({})}}", colour.light, colour.name);
    };
    rule(".graph .background", "fill", BACKGROUND);
    rule(".graph text", "fill", TEXT);
    rule(".graph .edge", "stroke", EDGE);
    rule(".graph .card-box,.graph .more-box", "fill", CARD);
    rule(".graph .card-box,.graph .more-box,.graph .behind", "stroke", BORDER);
    rule(".graph .card-bar", "fill", QUIET);
    rule(".graph .sign", "stroke", QUIET);
    rule(".graph .card-state,.graph .card-note", "fill", QUIET);
    rule(".graph .role-deadEnd .card-box,.graph .role-exhausted .card-box", "fill", CARD_MUTED);
    rule(
        ".graph .role-deadEnd .card-title,.graph .role-deadEnd .card-id,.graph .proposed text",
        "fill",
        QUIET,
    );
    rule(".graph .proposed .card-box", "stroke", QUIET);
    for of in ROLES {
        rule(&format!(".graph .{} .card-bar", class(of)), "fill", role(of));
        rule(&format!(".graph .sign.{}", class(of)), "stroke", role(of));
    }
    rule(".graph .confirmed .card-note", "fill", SOLUTION);
    rule(".graph .edge.on-path,.graph .on-path .card-box,.graph .way", "stroke", SOLUTION);
    rule(".graph .edge.doubted,.graph .doubted .card-box,.graph .doubted .way", "stroke", DOUBT);
    rule(
        ".graph .unconfirmed .card-note,.graph .self-checked .card-note,.graph .contested .card-note,\
         .graph .unconfirmed .cell-sign,.graph .self-checked .cell-sign,.graph .contested .cell-sign",
        "fill",
        DOUBT,
    );
    rule(".graph .cell rect,.graph .tally rect", "stroke", BACKGROUND);
    rule(".graph .tally rect,.graph .hatch rect", "fill", QUIET);
    rule(".graph .hatch path,.graph .cell .hollow", "stroke", QUIET);
    for of in ROLES {
        let class = class(of);
        rule(
            &format!(".graph .tally .{class},.graph .hatch.{class} rect,.graph .cell.{class} .tint"),
            "fill",
            role(of),
        );
        rule(&format!(".graph .hatch.{class} path"), "stroke", role(of));
    }
    rule(".graph .cell .full", "fill", SOLUTION);
    rule(
        ".graph .hatch.doubt path,.graph .unconfirmed .hollow,.graph .self-checked .hollow",
        "stroke",
        DOUBT,
    );
    rule(".graph .tally .unconfirmed,.graph .tally .self-checked,.graph .tally .contested", "fill", DOUBT);
    rule(".graph .cell .full~svg text", "fill", BACKGROUND);
    css.push_str(CELLS);
    let mut rule = |selector: &str, property: &str, colour: Colour| {
        let _ = writeln!(css, "{selector}{{{property}:{};{property}:var({})}}", colour.light, colour.name);
    };
    rule(".graph a:hover rect.card-box,.graph a:focus-visible rect.card-box", "stroke", TEXT);
    rule(".graph a:hover .more-box,.graph a:focus-visible .more-box,.graph .more-arrow", "stroke", OPEN);
    rule(".graph .more text", "fill", OPEN);
    css.push_str(".graph a{text-decoration:none}\n.graph a:focus{outline:none}\n.graph a:focus-visible rect{stroke-width:3}\n");
    css
}

/// The opacity of icicle cells. Fills that refer to patterns are attributes, which a style must not override.
const CELLS: &str = ".graph .cell .tint{fill-opacity:.24}\n.graph .hatch rect{fill-opacity:.18}\n\
    .graph .hatch path{stroke-opacity:.75}\n.graph .cell.thin rect{stroke:none}\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bars_can_be_told_from_what_they_stand_on() {
        for pick in [|colour: Colour| colour.light, |colour: Colour| colour.dark] {
            for card in [CARD, CARD_MUTED] {
                for text in [TEXT, QUIET] {
                    assert!(contrast(pick(text), pick(card)) >= 4.5, "{} on {}", text.name, card.name);
                }
                for of in ROLES {
                    assert!(
                        contrast(pick(role(of)), pick(card)) >= 3.0,
                        "{} on {}",
                        role(of).name,
                        card.name
                    );
                }
            }
            assert!(contrast(pick(SOLUTION), pick(CARD)) >= 4.5, "the note that a solution is confirmed");
            assert!(contrast(pick(TEXT), pick(BACKGROUND)) >= 4.5);
        }
    }

    #[test]
    fn classes_are_the_names_that_rulesets_give_roles() {
        for of in ROLES {
            let name = serde_json::to_value(of).unwrap();
            assert_eq!(class(of), format!("role-{}", name.as_str().unwrap()));
        }
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
        (one / other).max(other / one)
    }

    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }
}
