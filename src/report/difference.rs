//! Text diffs: added and removed lines, with the changed words marked. No other module uses `similar`.
//!
//! [`difference`] returns the data for the template macro `difference`. It does not use a clock, so identical inputs
//! produce identical bytes. If a comparison would be too expensive, changed words are not marked.

use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

/// The number of unchanged lines around a change.
const CONTEXT: usize = 2;
/// The maximum number of words in a passage with marked words.
const MOST_WORDS: usize = 4_000;
/// The maximum total number of lines in both versions. Longer versions are shown one after the other.
const MOST_LINES: usize = 40_000;
/// The minimum percentage of unchanged bytes in a passage with marked words. A passage with a lower percentage counts as
/// replaced rather than changed.
const LEAST_ALIKE: usize = 35;

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
    let operations = match (old.len(), new.len()) {
        _ if before == after => Vec::new(),
        (old_len, new_len) if old_len + new_len > MOST_LINES => {
            vec![DiffOp::Replace { old_index: 0, old_len, new_index: 0, new_len }]
        }
        _ => capture_diff_slices(Algorithm::Myers, &old, &new),
    };
    let mut difference = Difference { passages: Vec::new(), added: 0, removed: 0 };
    let mut shown = 0;
    for group in group_diff_ops(operations, CONTEXT) {
        let Some(first) = group.first().map(|operation| operation.new_range().start) else { continue };
        let skipped = first.saturating_sub(shown);
        let mut lines = Vec::new();
        for operation in group {
            shown = operation.new_range().end;
            let (gone, come) = (&old[operation.old_range()], &new[operation.new_range()]);
            if matches!(operation, DiffOp::Equal { .. }) {
                lines.extend(come.iter().map(|line| DifferenceLine::whole(SAME, line)));
                continue;
            }
            difference.removed += gone.len();
            difference.added += come.len();
            lines.extend(replaced(gone, come));
        }
        difference.passages.push(ChangedPassage { skipped, lines });
    }
    difference
}

/// The CSS class and the sign of a kind of line.
type LineKind = (&'static str, &'static str);
const SAME: LineKind = ("same", " ");
const ADDED: LineKind = ("added", "+");
const REMOVED: LineKind = ("removed", "-");

impl DifferenceLine {
    fn new((class, sign): LineKind, parts: Vec<LinePart>) -> DifferenceLine {
        DifferenceLine { class, sign, parts }
    }

    fn whole(kind: LineKind, text: &str) -> DifferenceLine {
        DifferenceLine::new(kind, vec![LinePart { text: text.to_owned(), changed: false }])
    }
}

/// Returns the removed lines followed by the added lines, with changed words marked.
fn replaced(gone: &[&str], come: &[&str]) -> Vec<DifferenceLine> {
    let whole = |kind, lines: &[&str]| -> Vec<DifferenceLine> {
        lines.iter().map(|line| DifferenceLine::whole(kind, line)).collect()
    };
    let (old, new) = (words(gone), words(come));
    let is_one_sided = gone.is_empty() || come.is_empty();
    if is_one_sided || old.len() + new.len() > MOST_WORDS {
        return [whole(REMOVED, gone), whole(ADDED, come)].concat();
    }
    let operations = capture_diff_slices(Algorithm::Myers, &old, &new);
    let length = |words: &[&str]| words.iter().map(|word| word.len()).sum::<usize>();
    let same = operations.iter().filter(|operation| matches!(operation, DiffOp::Equal { .. }));
    let alike: usize = same.map(|operation| 2 * length(&old[operation.old_range()])).sum();
    if alike * 100 < LEAST_ALIKE * (length(&old) + length(&new)) {
        return [whole(REMOVED, gone), whole(ADDED, come)].concat();
    }
    let spans = |side: fn(&DiffOp) -> std::ops::Range<usize>| {
        operations.iter().map(move |operation| (side(operation), !matches!(operation, DiffOp::Equal { .. })))
    };
    let removed = lines_of(REMOVED, &old, spans(DiffOp::old_range));
    [removed, lines_of(ADDED, &new, spans(DiffOp::new_range))].concat()
}

/// Splits lines into words. Whitespace and line endings count as words.
fn words<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    let mut words = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if at > 0 {
            words.push("\n");
        }
        let kind = |c: char| match c {
            c if c.is_whitespace() => 0,
            c if c.is_alphanumeric() || c == '_' => 1,
            _ => 2,
        };
        let mut start = 0;
        let mut last = None;
        for (index, c) in line.char_indices() {
            // Each punctuation mark is a separate word.
            if last.is_some_and(|last| last != kind(c) || last == 2) {
                words.push(&line[start..index]);
                start = index;
            }
            last = Some(kind(c));
        }
        if start < line.len() {
            words.push(&line[start..]);
        }
    }
    words
}

/// Joins words into lines and marks the changed spans.
fn lines_of(
    kind: LineKind,
    words: &[&str],
    spans: impl Iterator<Item = (std::ops::Range<usize>, bool)>,
) -> Vec<DifferenceLine> {
    let mut lines: Vec<Vec<LinePart>> = vec![Vec::new()];
    for (range, changed) in spans {
        for word in &words[range] {
            if *word == "\n" {
                lines.push(Vec::new());
                continue;
            }
            let Some(line) = lines.last_mut() else { continue };
            match line.last_mut() {
                Some(part) if part.changed == changed => part.text.push_str(word),
                _ => line.push(LinePart { text: (*word).to_owned(), changed }),
            }
        }
    }
    lines.into_iter().map(|parts| DifferenceLine::new(kind, parts)).collect()
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
