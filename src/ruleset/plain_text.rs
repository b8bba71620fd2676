//! A ruleset for people at a terminal, as `tot ruleset show` prints it: plain text within 100 columns.

use super::effective::EffectiveRules;
use super::{Library, Mode, Ruleset, builtin, rules};

/// The widest line.
const WIDTH: usize = 100;

/// Between two columns.
const GAP: usize = 2;

/// What a column may shrink to.
const NARROWEST: usize = 12;

/// The whole ruleset: what it is for, its states as a table, its rules, its end and its modes.
pub fn plain_text(ruleset: &Ruleset) -> String {
    let rules = EffectiveRules::by_default(ruleset);
    let mut text = format!("{}\n{}\n", ruleset.name, wrapped(&ruleset.summary, WIDTH).join("\n"));
    if let Some(advice) = &ruleset.advice {
        text.push('\n');
        for paragraph in advice.trim().split("\n\n") {
            let paragraph = one_line(paragraph);
            text.push_str(&format!("{}\n", wrapped(&paragraph, WIDTH).join("\n")));
        }
    }
    text.push_str(&format!("\nStates\n{}", states(&rules)));
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

/// All rulesets, each with what it is for.
pub fn listing(library: &Library) -> String {
    let name = |ruleset: &Ruleset| match ruleset.name.as_str() {
        builtin::DEFAULT => format!("{} (default)", ruleset.name),
        name => name.to_owned(),
    };
    let names: Vec<String> = library.all().map(|file| name(&file.ruleset)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, file) in names.iter().zip(library.all()) {
        let room = WIDTH.saturating_sub(width + GAP);
        for (at, line) in wrapped(&file.ruleset.summary, room).iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            text.push_str(format!("{name:<width$}{:GAP$}{line}", "").trim_end());
            text.push('\n');
        }
    }
    text
}

fn section(text: &mut String, title: &str, items: Vec<String>) {
    text.push_str(&format!("\n{title}\n"));
    for item in items {
        for (at, line) in wrapped(&item, WIDTH - 4).iter().enumerate() {
            text.push_str(if at == 0 { "  - " } else { "    " });
            text.push_str(line);
            text.push('\n');
        }
    }
}

fn states(rules: &EffectiveRules) -> String {
    let mut rows = vec![["State", "Meaning", "Counts as", "Rules"].map(str::to_owned)];
    rows.extend(rules.ruleset().states.iter().map(|state| {
        let asks = rules::of_state(rules, state);
        [state.name.to_string(), state.meaning.clone(), state.role.label().to_owned(), asks]
    }));
    table(&rows)
}

/// Rows in columns that fit the width, the first row underlined.
fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let natural = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let least = |column: usize| {
        let words = rows.iter().flat_map(|row| row[column].split(' ')).map(|word| word.chars().count());
        words.max().unwrap_or(0)
    };
    let least: [usize; N] = std::array::from_fn(|column| least(column).max(NARROWEST.min(natural(column))));
    let mut widths: [usize; N] = std::array::from_fn(natural);
    // The widest gives way first, as long as no word is cut.
    while widths.iter().sum::<usize>() + 2 + GAP * N.saturating_sub(1) > WIDTH {
        let Some(widest) =
            (0..N).filter(|column| widths[*column] > least[*column]).max_by_key(|column| widths[*column])
        else {
            break;
        };
        widths[widest] -= 1;
    }
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let cells: Vec<Vec<String>> =
            row.iter().zip(widths).map(|(cell, width)| wrapped(cell, width)).collect();
        for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
            push_line(&mut text, &widths, |column| cells[column].get(line).map_or("", String::as_str));
        }
        if number == 0 {
            let lines: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
            push_line(&mut text, &widths, |column| &lines[column]);
        }
    }
    text
}

fn push_line<'a>(text: &mut String, widths: &[usize], cell: impl Fn(usize) -> &'a str) {
    let mut line = String::from("  ");
    for (column, width) in widths.iter().enumerate() {
        line.push_str(&format!("{:<width$}{:GAP$}", cell(column), ""));
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// The text in lines of at most that many characters, broken at blanks.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ruleset::builtin;

    #[test]
    fn every_built_in_ruleset_fits_the_width() {
        for file in builtin::all() {
            let text = plain_text(&file.ruleset);
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
