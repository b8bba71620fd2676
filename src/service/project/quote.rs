//! Checks that the words of a quote occur in the cited lines.
//!
//! Only words are compared, ignoring letter case, spaces, line ends, punctuation and comment markers. An ellipsis (`…`
//! or `...`) matches anything. A quote's location is the line on which it begins.

use crate::domain::Lines;

/// The location of a quote in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuoteLocation {
    /// In the expected lines.
    Expected,
    /// At another line.
    Line(u32),
    /// Nowhere in the file.
    Nowhere,
}

/// Locates the words of a quote. If no lines are given, any location counts as expected.
pub fn locate(text: &str, lines: Option<Lines>, quote: &str) -> QuoteLocation {
    let quote = quote.replace("...", "…");
    let parts: Vec<String> = quote.split('…').map(words).filter(|part| !part.is_empty()).collect();
    let Some((first, rest)) = parts.split_first() else { return QuoteLocation::Expected };
    let (mut all, mut starts) = (String::new(), Vec::new());
    for line in text.lines() {
        starts.push(all.len());
        all.push_str(&words(line));
    }
    let goes_on = |mut from: usize| {
        rest.iter().all(|part| {
            let found = all[from..].find(part.as_str());
            from += found.map_or(0, |at| at + part.len());
            found.is_some()
        })
    };
    let begins = all.match_indices(first.as_str()).filter(|(at, _)| goes_on(at + first.len()));
    let mut elsewhere = None;
    for (at, _) in begins {
        let line = u32::try_from(starts.partition_point(|start| *start <= at)).unwrap_or(u32::MAX);
        if lines.is_none_or(|lines| (lines.first..=lines.last).contains(&line)) {
            return QuoteLocation::Expected;
        }
        elsewhere = elsewhere.or(Some(line));
    }
    elsewhere.map_or(QuoteLocation::Nowhere, QuoteLocation::Line)
}

fn words(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "/// Waits for\n/// the lock.\nfn wait(&self) {\n    let n = 3;\n    let m = 4;\n}\n";

    fn at(first: u32, last: u32, quote: &str) -> QuoteLocation {
        locate(TEXT, Some(Lines { first, last }), quote)
    }

    #[test]
    fn a_quote_of_the_line_before_is_found_there() {
        assert_eq!(at(5, 5, "let n = 3;"), QuoteLocation::Line(4));
        assert_eq!(at(4, 4, "let n = 3;"), QuoteLocation::Expected);
        assert_eq!(at(3, 6, "let n = 3;"), QuoteLocation::Expected);
        assert_eq!(at(4, 4, "let k = 3;"), QuoteLocation::Nowhere);
        assert_eq!(locate(TEXT, None, "let n = 3;"), QuoteLocation::Expected);
        assert_eq!(locate(TEXT, None, "let k = 3;"), QuoteLocation::Nowhere);
    }

    #[test]
    fn spaces_ellipses_comment_markers_and_letter_case_are_ignored() {
        for quote in ["waits for the lock", "let   n=3", "“Waits for … lock.”", "Waits ... self", "{…}", ""]
        {
            assert_eq!(at(1, 4, quote), QuoteLocation::Expected, "{quote}");
        }
        // The quote begins at the given line and continues below it.
        assert_eq!(at(4, 4, "let n = 3;\n    let m = 4;"), QuoteLocation::Expected);
        // The words do not occur in this order.
        assert_eq!(at(1, 6, "let m … let n"), QuoteLocation::Nowhere);
    }
}
