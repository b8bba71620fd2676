//! Text diffs: added and removed lines, with the changed words marked. No other module uses `similar`.
//!
//! [`difference`] returns the data for the template macro `difference`. It does not use a clock, so identical inputs
//! produce identical bytes. If a comparison would be too expensive, changed words are not marked.

use serde::Serialize;
use similar::{Algorithm, ChangeTag, DiffOp, InlineChange, InlineChangeOptions, TextDiff};

/// The number of unchanged lines around a change.
const CONTEXT: usize = 2;
/// The maximum number of bytes in a passage with marked words.
const MOST_BYTES: usize = 20_000;
/// The maximum total number of lines in both versions. Longer versions are shown one after the other.
const MOST_LINES: usize = 40_000;
/// The minimum share of unchanged words in a passage with marked words. A passage with a lower share counts as replaced
/// rather than changed.
const LEAST_ALIKE: f32 = 0.35;

/// A text diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The changed passages with their context.
    pub passages: Vec<ChangedPassage>,
    /// The number of added lines.
    pub added: usize,
    /// The number of removed lines.
    pub removed: usize,
}

/// The lines of one passage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedPassage {
    /// The number of unchanged lines omitted before the passage.
    pub skipped: usize,
    /// The lines, with removed lines before added ones.
    pub lines: Vec<DifferenceLine>,
}

/// One line of either version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DifferenceLine {
    /// The CSS class: `same`, `added` or `removed`.
    pub class: &'static str,
    /// The line prefix: ` `, `+` or `-`.
    pub sign: &'static str,
    /// The text, split into parts.
    pub parts: Vec<LinePart>,
}

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinePart {
    /// The text of the part.
    pub text: String,
    /// True if this part changed. Never true if the whole line changed.
    pub changed: bool,
}

/// Compares two versions of a text. Identical versions have no passages.
pub fn difference(before: &str, after: &str) -> Difference {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let mut difference = Difference { passages: Vec::new(), added: 0, removed: 0 };
    if before == after {
        return difference;
    }
    if old.len() + new.len() > MOST_LINES {
        let removed = old.iter().map(|line| DifferenceLine::new(ChangeTag::Delete, &[(false, line)]));
        let added = new.iter().map(|line| DifferenceLine::new(ChangeTag::Insert, &[(false, line)]));
        let passages = vec![ChangedPassage { skipped: 0, lines: removed.chain(added).collect() }];
        return Difference { passages, added: new.len(), removed: old.len() };
    }
    let diff = TextDiff::from_slices(&old, &new);
    let mut options = InlineChangeOptions::new();
    options.algorithm(Algorithm::Myers).min_ratio(LEAST_ALIKE);
    let mut shown = 0;
    for group in diff.grouped_ops(CONTEXT) {
        let Some(first) = group.first().map(|operation| operation.new_range().start) else { continue };
        let skipped = first.saturating_sub(shown);
        let mut lines = Vec::new();
        for operation in group {
            shown = operation.new_range().end;
            let (gone, come) = (&old[operation.old_range()], &new[operation.new_range()]);
            if !matches!(operation, DiffOp::Equal { .. }) {
                difference.removed += gone.len();
                difference.added += come.len();
            }
            let changes: Vec<InlineChange<'_, str>> =
                match gone.iter().chain(come).map(|line| line.len()).sum::<usize>() > MOST_BYTES {
                    true => diff.iter_changes(&operation).map(InlineChange::from).collect(),
                    false => {
                        diff.iter_inline_changes_with_options_deadline(&operation, options, None).collect()
                    }
                };
            lines.extend(changes.iter().map(|line| DifferenceLine::new(line.tag(), line.values())));
        }
        difference.passages.push(ChangedPassage { skipped, lines });
    }
    difference
}

impl DifferenceLine {
    /// Returns a line of these parts, each with true if it changed.
    fn new(tag: ChangeTag, parts: &[(bool, &str)]) -> DifferenceLine {
        let (class, sign) = match tag {
            ChangeTag::Equal => ("same", " "),
            ChangeTag::Delete => ("removed", "-"),
            ChangeTag::Insert => ("added", "+"),
        };
        let part = |(changed, text): &(bool, &str)| LinePart { text: (*text).to_owned(), changed: *changed };
        DifferenceLine { class, sign, parts: parts.iter().map(part).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a diff as text, with `[…]` around changed words.
    fn shown(before: &str, after: &str) -> String {
        let mut text = String::new();
        for passage in difference(before, after).passages {
            text.push_str(&format!("@{}\n", passage.skipped));
            for line in passage.lines {
                text.push_str(line.sign);
                for part in line.parts {
                    text.push_str(&if part.changed { format!("[{}]", part.text) } else { part.text });
                }
                text.push('\n');
            }
        }
        text
    }

    #[test]
    fn the_same_text_has_no_difference() {
        assert_eq!(difference("a\nb", "a\nb"), Difference { passages: Vec::new(), added: 0, removed: 0 });
    }

    #[test]
    fn words_that_changed_in_a_line_are_marked() {
        assert_eq!(
            shown("The timeout is 5 s.", "The timeout is 30 s, by default."),
            "@0\n-The timeout is [5] s.\n+The timeout is [30] s[, by default].\n"
        );
    }

    #[test]
    fn another_text_is_not_shown_as_a_changed_one() {
        assert_eq!(
            shown("It is the disk.", "Nobody knows what"),
            "@0\n-It is the disk.\n+Nobody knows what\n"
        );
    }

    #[test]
    fn far_changes_are_passages_of_their_own() {
        let before: Vec<String> = (1..=20).map(|line| format!("line {line}")).collect();
        let mut after = before.clone();
        after[1] = "line two".to_owned();
        after.remove(17);
        after.push("the end".to_owned());
        assert_eq!(
            shown(&before.join("\n"), &after.join("\n")),
            "@0\n line 1\n-line [2]\n+line [two]\n line 3\n line 4\n\
             @11\n line 16\n line 17\n-line 18\n line 19\n line 20\n+the end\n"
        );
    }

    #[test]
    fn lines_that_came_or_went_are_counted() {
        let counted = difference("a\nb\nc", "a\nc\nd\ne");
        assert_eq!((counted.added, counted.removed), (2, 1));
    }

    #[test]
    fn huge_texts_take_no_long_time() {
        let old: String = (0..60_000_u64).map(|number| format!("{}\n", number * 7_919 % 60_013)).collect();
        let new: String = (0..60_000_u64).map(|number| format!("{}\n", number * 104_729 % 60_013)).collect();
        let started = std::time::Instant::now();
        assert_eq!(difference(&old, &new).added, 60_000);
        let line = |step: u64| (0..3_000_u64).map(|n| format!("{} ", n * step % 3_001)).collect::<String>();
        difference(&line(7), &line(11));
        let lines =
            |step: u64| (0..19_000_u64).map(|n| format!("{}\n", n * step % 19_001)).collect::<String>();
        difference(&lines(7_919), &lines(104_729));
        assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    }
}
