//! Unidiomatic phrases, and sentences that are too long to understand at first reading. They are printed as warnings.

use std::io::Write;

use regex_lite::Regex;

use super::source::sources;
use super::{files, name};

/// Banned anywhere. Each has a plain alternative: an invalid id, an unknown tool, messages to the sync thread.
const PHRASES: &str = "is none, are none of, that are none, which are none, that there is not, that there are not, \
    who has no, what who, for who, who syncs, is told of, are told of, come about, comes about, came about, \
    as good as for ever, shall, nothing was said";
/// Banned at the beginning of a doc comment, which must open with a noun or a third-person verb.
const OPENINGS: &str = "The same, Who, What who, As good";
/// The exceptions, with reasons.
const EXCEPTIONS: [(&str, &str); 2] = [
    ("there is none", "names what is absent, in its own sentence"),
    ("with --json: {", "is the shape of an output, and no sentence"),
];
/// The maximum number of words in a sentence on a page, in a message or in a guide.
const LONGEST: usize = 40;

/// Returns the banned phrases in a file by line, including phrases that span two lines.
fn phrases(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut said, mut starts) = (Vec::new(), String::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        let doc = line.strip_prefix("/// ").or_else(|| line.strip_prefix("//! ")).unwrap_or_default();
        let opens = |rest: &str| !rest.starts_with(char::is_alphanumeric);
        let openings = OPENINGS.split(", ").filter(|opening| doc.strip_prefix(opening).is_some_and(opens));
        found.extend(openings.map(|opening| (number, opening.to_owned())));
        starts.push(said.len());
        said += &line.trim_start_matches(['/', '!', ' ']).to_lowercase();
        said.push(' ');
    }
    for (kept, _) in EXCEPTIONS {
        said = said.replace(kept, &"-".repeat(kept.len()));
    }
    let ends = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric());
    for phrase in PHRASES.split(", ") {
        let places = said.match_indices(phrase).map(|(at, _)| at).filter(|at| {
            ends(said[..*at].chars().next_back()) && ends(said[at + phrase.len()..].chars().next())
        });
        found.extend(places.map(|at| (starts.partition_point(|start| *start <= at), phrase.to_owned())));
    }
    found
}

/// Returns the long sentences in Markdown, by the line where each ends. List items, table rows and empty lines also end
/// a sentence.
fn long(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut words, mut is_code) = (Vec::new(), Vec::new(), false);
    let mut end = |number: usize, words: &mut Vec<&str>| {
        let said = words.join(" ").to_lowercase();
        if words.len() > LONGEST && !EXCEPTIONS.iter().any(|(kept, _)| said.contains(kept)) {
            found.push((number, format!("{} words: {said}", words.len())));
        }
        words.clear();
    };
    for (number, line) in (1..).zip(text.lines().chain([""])) {
        let begin = line.trim_start();
        is_code ^= begin.starts_with("```");
        let is_read = !is_code && !line.starts_with("    ");
        if begin.is_empty() || !is_read || begin.starts_with(['-', '*', '#', '|', '>']) {
            end(number, &mut words);
        }
        for word in line.split_whitespace().filter(|_| is_read) {
            words.extend(word.contains(char::is_alphanumeric).then_some(word));
            if word.trim_end_matches(['"', '\'', ')', ']', '*', '_', '`']).ends_with(['.', '!', '?', '|']) {
                end(number, &mut words);
            }
        }
    }
    found
}

/// Text in which these strings also end a sentence.
fn ending_at(text: &str, ends: &[&str]) -> String {
    let text = text.lines().map(str::trim_start).collect::<Vec<_>>().join("\n");
    ends.iter().fold(text, |text, end| text.replace(end, " . "))
}

/// Returns these files, and the files in these folders, by path from the project's root.
fn of(paths: &[&str], endings: &[&str]) -> impl Iterator<Item = (String, String)> {
    let files: Vec<_> = paths.iter().flat_map(|path| files(path, endings)).collect();
    files.into_iter().map(|(path, text)| (name(&path), text))
}

/// Prints what was found, also in a test that passes: prose is a matter of judgement.
fn warn(texts: impl Iterator<Item = (String, String)>, found: fn(&str) -> Vec<(usize, String)>) {
    for (file, text) in texts {
        for (line, said) in found(&text) {
            let _ = writeln!(std::io::stderr(), "warning: {file}:{line}: say it plainly: {said}");
        }
    }
}

/// Returns the lines in which a verdict runs into the next sentence, as in "conclusion not checked ended".
fn joined(text: &str) -> Vec<(usize, String)> {
    const VERDICTS: &str =
        "(not checked|checked only by its author|stopped early|contested|(same|another) session)";
    let joins = Regex::new(&format!("{VERDICTS} (ended|tag|commit|next)")).unwrap();
    let lines = (1..).zip(text.lines()).filter(|(_, line)| joins.is_match(line));
    lines.map(|(number, line)| (number, line.to_owned())).collect()
}

#[test]
fn no_text_reads_as_translated() {
    assert_eq!(phrases("/// The same, of an id\n/// that is\n/// none.").len(), 2);
    assert_eq!(phrases("/// Returns the id; `None` where there is none."), []);
    let texts = of(&["src", "tests", "site-template", "README.md"], &["rs", "md", "html", "js", "css"]);
    // This file lists the phrases.
    warn(texts.filter(|(file, _)| !file.ends_with("tidy/words.rs")), phrases);
}

#[test]
fn no_sentence_is_too_long() {
    let sentence = "word ".repeat(LONGEST);
    assert_eq!((long(&format!("{sentence}end.")).len(), long(&format!("{sentence}. End."))), (1, vec![]));
    warn(of(&["src", "README.md", "site-template", "tests/README.md"], &["md"]), long);
    let pages = of(&["src", "site-template"], &["html"]);
    warn(pages.map(|(file, text)| (file, ending_at(&text, &["<", ">", "{", "}"]))), long);
    let literals = sources().iter().flat_map(|source| {
        // A line that ends with a backslash continues on the next line.
        let text = |text: &str| text.replace('\n', " . \n").replace("\\ . \n", "\n");
        let text = move |(line, said): (usize, &str)| "\n".repeat(line) + &ending_at(&text(said), &["\\n"]);
        source.literals().map(move |literal| (source.name.clone(), text(literal)))
    });
    warn(literals, long);
}

#[test]
fn no_snapshot_joins_two_sentences() {
    assert_eq!(joined("conclusion not checked ended, tag ended/1").len(), 1);
    assert_eq!(joined("conclusion not checked\nended, tag ended/1\nR2.A1, not checked since"), []);
    let found: Vec<_> =
        of(&["tests/it", "src"], &["md", "snap"]).map(|(file, text)| (file, joined(&text))).collect();
    assert!(found.len() > 60);
    let found: Vec<_> = found.into_iter().filter(|(_, lines)| !lines.is_empty()).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn the_readme_is_read_in_one_go() {
    let text = super::read("README.md");
    // The table of tools is written by a test.
    let lines = text.lines().filter(|line| !line.starts_with('|')).count();
    if lines > 135 {
        let _ = writeln!(std::io::stderr(), "warning: README.md has {lines} lines: move some to the topics");
    }
}
