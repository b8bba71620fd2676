//! Reads files with git conflict markers, which result from line-based merges.

/// The two sides of a file with conflict markers, and their common ancestor if included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sides {
    /// The text of the common ancestor. `None` if git was not configured to include it (`merge.conflictStyle`).
    pub base: Option<String>,
    /// The text above `=======`.
    pub ours: String,
    /// The text below `=======`.
    pub theirs: String,
}

/// The part of a conflict that contains a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConflictPart {
    Both,
    Ours,
    Base,
    Theirs,
}

/// Splits text with conflict markers at the start of lines into its sides. Returns `None` if there are no valid
/// markers.
pub fn sides(text: &str) -> Option<Sides> {
    let (mut sides, mut base, mut has_base) = (Sides::default(), String::new(), false);
    let (mut part, mut is_marked) = (ConflictPart::Both, false);
    for line in text.split_inclusive('\n') {
        part = match (marker(line), part) {
            (Some('<'), ConflictPart::Both) => ConflictPart::Ours,
            (Some('|'), ConflictPart::Ours) => {
                has_base = true;
                ConflictPart::Base
            }
            (Some('='), ConflictPart::Ours | ConflictPart::Base) => ConflictPart::Theirs,
            (Some('>'), ConflictPart::Theirs) => {
                is_marked = true;
                ConflictPart::Both
            }
            // A line of equal signs may be ordinary content.
            (None | Some('='), part) => {
                for (of, side) in [
                    (ConflictPart::Ours, &mut sides.ours),
                    (ConflictPart::Base, &mut base),
                    (ConflictPart::Theirs, &mut sides.theirs),
                ] {
                    if part == ConflictPart::Both || part == of {
                        side.push_str(line);
                    }
                }
                part
            }
            (Some(_), _) => return None,
        };
    }
    sides.base = has_base.then_some(base);
    (is_marked && part == ConflictPart::Both).then_some(sides)
}

/// Returns the marker character of a line if the line begins with exactly seven of them, followed by a space or
/// nothing.
fn marker(line: &str) -> Option<char> {
    let line = line.trim_end_matches(['\n', '\r']);
    let first = line.chars().next().filter(|first| "<|=>".contains(*first))?;
    let rest = line.trim_start_matches(first);
    (line.len() - rest.len() == 7 && (rest.is_empty() || rest.starts_with(' '))).then_some(first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_sides_are_read_with_and_without_what_they_came_from() {
        let text = "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> other\nd\n";
        let expected = Sides { base: None, ours: "a\nb\nd\n".into(), theirs: "a\nc\nd\n".into() };
        assert_eq!(sides(text), Some(expected.clone()));
        let text = "a\r\n<<<<<<< HEAD\r\nb\r\n||||||| 1234\r\n=======\r\nc\r\n>>>>>>> other\r\nd\r\n";
        let read = sides(text).unwrap();
        assert_eq!(read.base.as_deref(), Some("a\r\nd\r\n"));
        assert_eq!(read.ours, expected.ours.replace('\n', "\r\n"));
    }

    #[test]
    fn what_is_no_conflict_is_none() {
        for text in [
            "",
            "a: |\n  <<<<<<< HEAD\n  =======\n  >>>>>>> x\n",
            "<<<<<<< HEAD\na\n",
            "=======\n",
            ">>>>>>> x\n",
            "<<<<<<< a\n<<<<<<< b\n=======\n>>>>>>> b\n",
            "<<<<<<<< a\nb\n========\nc\n>>>>>>>> d\n",
        ] {
            assert_eq!(sides(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_lines_are_read_without_a_panic_and_lose_nothing(
            lines in prop::collection::vec(
                prop::sample::select(vec!["a", "b", "<<<<<<< x", "||||||| y", "=======", ">>>>>>> z", ""]), 0..12),
        ) {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            if let Some(Sides { base, ours, theirs }) = sides(&text) {
                for line in lines.iter().filter(|line| ["a", "b"].contains(line)) {
                    let held = [Some(&ours), Some(&theirs), base.as_ref()];
                    prop_assert!(held.into_iter().flatten().any(|side| side.contains(line)));
                }
            }
        }
    }
}
