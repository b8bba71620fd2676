//! Which texts are about the same subject, by the words they share.
//!
//! The similarity of two texts is the cosine of their word vectors, each word weighted by its rarity among all texts
//! (tf-idf; Manning, Raghavan and Schütze, *Introduction to Information Retrieval*, chapter 6). It counts for more the more words
//! contribute to it: a single shared word is often a coincidence. Without a model of the language, a question that shares no
//! word with an earlier one is not found.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::composed;

/// The similarity from which on two texts are related. The test below says what it finds.
const RELATED: f64 = 0.165;

/// The weight of a word that occurs in questions about anything.
const COMMON: f64 = 0.4;

/// The number of letters that tell two words apart. Endings after them are ignored.
const STEM: usize = 7;

/// The number of rarest words that each text is taken to have beyond its own, so that two short texts with one word in common
/// are not alike.
const BEYOND: f64 = 2.0;

/// The maximum number of shared words that make texts more alike, and how much each of them does.
const SHARED: f64 = 4.0;
const EACH: f64 = 0.75;

/// The words of a text, each with its weight.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words(HashMap<String, f64>);

impl Words {
    /// Returns the words of a text. Scripts without spaces between words count in pairs of characters.
    pub fn of(text: &str) -> Words {
        let text = composed(text).to_lowercase();
        let mut words = HashMap::new();
        for word in text.split(|c: char| !c.is_alphanumeric()) {
            if word.chars().any(is_spaceless) {
                let characters: Vec<char> = word.chars().collect();
                words.extend(characters.windows(2).map(|pair| (pair.iter().collect(), 1.0)));
            } else if word.chars().nth(1).is_some() && !IGNORED_WORDS.contains(word) {
                let weight = if COMMON_WORDS.contains(word) { COMMON } else { 1.0 };
                let known: &mut f64 = words.entry(stem(word).to_owned()).or_default();
                *known = known.max(weight);
            }
        }
        Words(words)
    }
}

/// Returns the positions of the texts that are related to `asked`, the closest first.
pub fn related(asked: &Words, texts: &[Words]) -> Vec<usize> {
    let mut rarity: HashMap<&str, f64> = asked.0.keys().map(|word| (word.as_str(), 0.0)).collect();
    for word in texts.iter().flat_map(|text| text.0.keys()) {
        *rarity.entry(word).or_default() += 1.0;
    }
    let number = texts.len() as f64;
    let rare = |frequency: f64| (1.0 + (number + 1.0) / (frequency + 0.5)).ln();
    rarity.values_mut().for_each(|frequency| *frequency = rare(*frequency));
    let weight = |(word, weight): (&String, &f64)| weight * rarity[word.as_str()];
    let beyond = BEYOND * rare(0.0).powi(2);
    let length = |text: &Words| (text.0.iter().map(weight).map(|it| it * it).sum::<f64>() + beyond).sqrt();
    let asked_length = length(asked);
    let similarity = |text: &Words| {
        let shared = asked.0.iter().filter_map(|(word, own)| {
            let other = text.0.get(word)?;
            Some(weight((word, own)) * weight((word, other)))
        });
        let (sum, squares) = shared.fold((0.0, 0.0), |(sum, squares), it| (sum + it, squares + it * it));
        if sum == 0.0 {
            return 0.0;
        }
        // The effective number of shared words: rare words count fully, common ones hardly.
        let words: f64 = sum * sum / squares;
        sum / (asked_length * length(text)) * words.min(SHARED).powf(EACH)
    };
    let mut found: Vec<(usize, f64)> = texts.iter().map(similarity).enumerate().collect();
    found.retain(|(_, similarity)| *similarity >= RELATED);
    found.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    found.into_iter().map(|(at, _)| at).collect()
}

/// Returns whether a script writes its words without spaces: Chinese and Japanese.
fn is_spaceless(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
}

/// Returns the beginning of a word, without a common ending.
fn stem(word: &str) -> &str {
    const ENDINGS: [&str; 11] = ["ings", "ing", "ied", "ies", "ed", "es", "s", "en", "er", "ly", "e"];
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
    let bare = ENDINGS.iter().find_map(|ending| word.strip_suffix(ending).filter(|rest| rest.len() >= 3));
    let bare = bare.filter(|_| !is_number).unwrap_or(word);
    let end = bare.char_indices().nth(STEM).filter(|_| !is_number).map_or(bare.len(), |(at, _)| at);
    &bare[..end]
}

fn set(words: &'static str) -> HashSet<&'static str> {
    words.split_whitespace().collect()
}

/// Words of grammar, in English, German and French.
static IGNORED_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| set(include_str!("ignored_words.txt")));

/// Words of questions about anything, mostly about software.
static COMMON_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| set(include_str!("common_words.txt")));

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Questions {
        again: Vec<AskedAgain>,
        unrelated: Vec<String>,
        /// The number that is found.
        found: usize,
    }

    /// An investigation's question and bottom line, and the question as another person asked it later.
    #[derive(Deserialize)]
    struct AskedAgain {
        first: String,
        again: String,
    }

    #[test]
    fn finds_the_same_question_asked_otherwise_and_no_other() {
        let sets: Vec<Questions> = serde_json::from_str(include_str!("questions.json")).unwrap();
        for questions in sets {
            let texts: Vec<Words> = questions.again.iter().map(|pair| Words::of(&pair.first)).collect();
            let found = |question: &str| related(&Words::of(question), &texts);
            let alike = questions.again.iter().enumerate();
            let same = alike.filter(|(at, pair)| found(&pair.again).iter().take(3).any(|found| found == at));
            let wrong: Vec<_> = questions.unrelated.iter().filter(|it| !found(it).is_empty()).collect();
            assert_eq!((same.count(), wrong.as_slice()), (questions.found, [].as_slice()));
        }
    }
}
