//! The colours of pictures for light and dark pages, and the stylesheet that uses them.

use std::fmt::Write as _;

use crate::ruleset::Role;

/// A colour used in pictures: a CSS custom property and its values on light and dark pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    /// The name of the custom property, such as `--role-open`.
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
/// The colour reserved for doubt.
pub const DOUBT: Colour = colour("--graph-doubt", "#8a5a00", "#e3b341");

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

/// Returns all colours. On cards, text reaches WCAG AA contrast (4.5:1) and bars reach 3:1, on both light and dark
/// pages.
pub fn palette() -> impl Iterator<Item = Colour> {
    let others = [BACKGROUND, CARD, CARD_MUTED, BORDER, TEXT, QUIET, EDGE, DOUBT];
    others.into_iter().chain(ROLES.map(role))
}

/// Returns the colour of a role.
pub fn role(role: Role) -> Colour {
    match role {
        Role::Open => colour("--role-open", "#2666bd", "#58a6ff"),
        Role::AwaitingConfirmation => colour("--role-awaitingConfirmation", "#0f6f7c", "#39c5cf"),
        Role::Solution => colour("--role-solution", "#1a7f37", "#3fb950"),
        Role::Theory => colour("--role-theory", "#7a45d1", "#bc8cff"),
        Role::Confirmation => colour("--role-confirmation", "#1a7f37", "#3fb950"),
        Role::Exhausted => colour("--role-exhausted", "#6e7781", "#8b949e"),
        Role::DeadEnd => colour("--role-deadEnd", "#b3373a", "#f47067"),
    }
}

/// Returns the CSS class of a role, such as `role-deadEnd`.
pub fn class(of: Role) -> &'static str {
    role(of).name.trim_start_matches('-')
}

/// Returns the stylesheet of a standalone picture: custom properties for light and dark pages, and the rules that use
/// them. Pages can include it in their own stylesheets.
pub fn stylesheet() -> String {
    let light: String = palette().map(|it| format!("{}:{};", it.name, it.light)).collect();
    let dark: String = palette().map(|it| format!("{}:{};", it.name, it.dark)).collect();
    let mut css = format!(".graph{{{light}}}\n@media (prefers-color-scheme:dark){{.graph{{{dark}}}}}\n");
    write_rules(&mut css, CARDS);
    for role in ROLES {
        write_rules(&mut css, &CARDS_OF_ROLE.replace("ROLE", class(role)));
    }
    write_rules(&mut css, PATHS);
    write_rules(&mut css, LINKS);
    css.push_str(".graph a{text-decoration:none}\n.graph a:focus{outline:none}\n.graph a:focus-visible rect{stroke-width:3}\n");
    css
}

/// Writes rules whose value is a colour name.
fn write_rules(css: &mut String, rules: &str) {
    for (rule, name) in rules.lines().filter_map(|line| line.strip_suffix('}')?.split_once("--")) {
        let property = rule.rsplit('{').next().unwrap_or_default();
        // Programs without support for custom properties (librsvg, Inkscape) use the first value.
        for colour in palette().filter(|colour| colour.name.trim_start_matches('-') == name) {
            let _ = writeln!(css, "{rule}{};{property}var({})}}", colour.light, colour.name);
        }
    }
}

const CARDS: &str = "\
.graph .background{fill:--graph-background}
.graph text{fill:--graph-text}
.graph .edge{stroke:--graph-edge}
.graph .card-box{fill:--graph-card}
.graph .card-box{stroke:--graph-border}
.graph .card-bar{fill:--graph-quiet}
.graph .sign{stroke:--graph-quiet}
.graph .card-state,.graph .card-note{fill:--graph-quiet}
.graph .role-deadEnd .card-box,.graph .role-exhausted .card-box{fill:--graph-card-muted}
.graph .role-deadEnd .card-title,.graph .role-deadEnd .card-id,.graph .proposed text{fill:--graph-quiet}
.graph .proposed .card-box{stroke:--graph-quiet}";
const CARDS_OF_ROLE: &str = "\
.graph .ROLE .card-bar{fill:--ROLE}
.graph .sign.ROLE{stroke:--ROLE}";
const PATHS: &str = "\
.graph .role-solution .card-bar,.graph .role-confirmation .card-bar{fill:--graph-quiet}
.graph .confirmed .card-bar{fill:--role-solution}
.graph .sign.doubt{stroke:--graph-doubt}
.graph .unconfirmed .card-bar,.graph .self-checked .card-bar,.graph .contested .card-bar{fill:--graph-doubt}
.graph .refuted .card-bar,.graph .undermined .card-bar,.graph .refutes .card-bar{fill:--role-deadEnd}
.graph .refuted .card-note,.graph .undermined .card-note,.graph .refutes .card-note{fill:--role-deadEnd}
.graph .refutes .card-box{stroke:--role-deadEnd}
.graph .confirmed .card-note{fill:--role-solution}
.graph .edge.on-path,.graph .on-path .card-box{stroke:--role-solution}
.graph .edge.doubted,.graph .doubted .card-box{stroke:--graph-doubt}
.graph .unconfirmed .card-note,.graph .self-checked .card-note,.graph .contested .card-note{fill:--graph-doubt}";
const LINKS: &str = "\
.graph a:hover rect.card-box,.graph a:focus-visible rect.card-box{stroke:--graph-text}";

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
            assert!(
                contrast(pick(role(Role::Solution)), pick(CARD)) >= 4.5,
                "the note that a solution is confirmed"
            );
            assert!(contrast(pick(TEXT), pick(BACKGROUND)) >= 4.5);
        }
    }

    #[test]
    fn each_rule_has_a_known_colour() {
        for rules in [CARDS, &CARDS_OF_ROLE.replace("ROLE", "role-open"), PATHS, LINKS] {
            let mut css = String::new();
            write_rules(&mut css, rules);
            assert_eq!(css.lines().count(), rules.lines().count(), "{css}");
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
