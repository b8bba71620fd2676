//! Rulesets as plain text for the terminal, as printed by `tot util ruleset show`.

use super::effective::EffectiveRules;
use super::{Library, Mode, Ruleset, State, builtin, rules};
use crate::text::{one_line, wrap};

/// Maximum line width, for readability.
pub const WIDTH: usize = 100;

/// The space between two columns.
const GAP: usize = 2;

/// Returns the full ruleset: its purpose, states, rules, requirements for ending, and modes.
pub fn plain_text(ruleset: &Ruleset, width: usize) -> String {
    let rules = EffectiveRules::by_default(ruleset);
    let mut text = format!("{}\n{}\n", ruleset.name, wrap(&ruleset.summary, width).join("\n"));
    if let Some(advice) = &ruleset.advice {
        text.push('\n');
        for paragraph in advice.trim().split("\n\n") {
            text.push_str(&format!("{}\n", wrap(&one_line(paragraph), width).join("\n")));
        }
    }
    let state = |state: &State| {
        let asks = rules::of_state(&rules, state);
        format!("{} ({}): {}. {asks}", state.name, state.role.label(), state.meaning)
    };
    let section = |text: &mut String, title, items| section(text, title, items, width);
    section(&mut text, "States", ruleset.states.iter().map(state).collect());
    section(&mut text, "Rules", rules::sentences(&rules));
    section(&mut text, "End", rules::end(&rules));
    let mode = |mode: &Mode| {
        let default = if rules.mode_name() == mode.name { " (default)" } else { "" };
        format!("{}{default}: {}", mode.name, mode.meaning)
    };
    if !ruleset.modes.is_empty() {
        section(&mut text, "Modes", ruleset.modes.iter().map(mode).collect());
    }
    text
}

/// Returns a list of all rulesets with their purposes.
pub fn listing(library: &Library, width: usize) -> String {
    let name = |ruleset: &Ruleset| match ruleset.name.as_str() {
        builtin::DEFAULT => format!("{} (default)", ruleset.name),
        name => name.to_owned(),
    };
    let names: Vec<String> = library.all().map(|file| name(&file.ruleset)).collect();
    let column = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, file) in names.iter().zip(library.all()) {
        let room = width.saturating_sub(column + GAP);
        for (at, line) in wrap(&file.ruleset.summary, room).iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            text.push_str(format!("{name:<column$}{:GAP$}{line}", "").trim_end());
            text.push('\n');
        }
    }
    text
}

fn section(text: &mut String, title: &str, items: Vec<String>, width: usize) {
    text.push_str(&format!("\n{title}\n"));
    for item in items {
        for (at, line) in wrap(&item, width.saturating_sub(4)).iter().enumerate() {
            text.push_str(if at == 0 { "  - " } else { "    " });
            text.push_str(line);
            text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ruleset::builtin;

    #[test]
    fn every_built_in_ruleset_fits_the_width() {
        for file in builtin::all() {
            let text = plain_text(&file.ruleset, WIDTH);
            for line in text.lines() {
                assert!(line.chars().count() <= WIDTH, "{line}");
                assert_eq!(line, line.trim_end());
            }
            for state in &file.ruleset.states {
                assert!(text.contains(state.name.as_str()), "{text}");
            }
        }
    }
}
