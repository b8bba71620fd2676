//! Tracks which combinations of dimension values are covered by nodes.
//!
//! A combination has one value for every dimension. All combinations are wanted if there are at most [`PRODUCT_MAX`] of
//! them or fewer than three dimensions. Otherwise every pair of values from two dimensions is wanted (pairwise
//! coverage), and one node can cover many pairs at once.
//!
//! A committed or pending node covers the values listed in its `covers` (`engine=gix`). Without that list, the node's
//! title and planned action must name all values of a combination and no other value of the same dimensions. Values are
//! matched as whole words, ignoring case.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::decide::Rejection;
use crate::domain::{Code, Diagnostic, Investigation, Node};

/// Maximum number of full combinations for three or more dimensions. For larger products, pairs are covered instead.
const PRODUCT_MAX: usize = 64;

/// Maximum number of combinations to cover.
const COMBINATIONS_MAX: usize = 1_000;

/// Maximum number of dimensions, and maximum number of characters in a name or value. A combination within these limits
/// fits into a planned action.
const DIMENSIONS_MAX: usize = 10;
const NAME_MAX: usize = 80;

/// Maximum number of missing combinations listed in a reply.
const MISSING_SHOWN: usize = 20;

/// A dimension and its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dimension {
    /// The name, such as `database`.
    pub name: String,
    /// The possible values, such as `postgres` and `mysql`.
    pub values: Vec<String>,
}

/// One value for each of several dimensions, as (name, value) pairs.
pub type Combination = Vec<(String, String)>;

/// The coverage of combinations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// True if pairs of values are counted instead of full combinations.
    pub pairwise: bool,
    /// The total number of combinations.
    pub total: usize,
    /// The number of covered combinations.
    pub covered: usize,
    /// The first combinations that are not covered by any node.
    #[serde(serialize_with = "as_maps")]
    pub missing: Vec<Combination>,
}

fn as_maps<S: Serializer>(combinations: &[Combination], serializer: S) -> Result<S::Ok, S::Error> {
    let map = |combination: &Combination| combination.iter().cloned().collect::<BTreeMap<_, _>>();
    serializer.collect_seq(combinations.iter().map(map))
}

/// The wanted combinations and their coverage.
pub(super) struct Grid {
    dimensions: Vec<Dimension>,
    /// Each combination as a list of (dimension, value) indices, in the order of the dimensions.
    asked: Vec<Vec<(usize, usize)>>,
    missing: Vec<bool>,
}

impl Grid {
    /// Returns the grid for these dimensions, or `None` if no dimensions are given.
    pub(super) fn new(
        investigation: &Investigation,
        dimensions: &[Dimension],
    ) -> Result<Option<Grid>, Rejection> {
        if dimensions.is_empty() {
            return Ok(None);
        }
        let dimensions = checked(dimensions)?;
        let all: Vec<usize> = (0..dimensions.len()).collect();
        let pairwise = all.len() > 2 && product(&dimensions, &all) > PRODUCT_MAX;
        let sets: Vec<Vec<usize>> = match pairwise {
            true => {
                all.iter().flat_map(|one| all[one + 1..].iter().map(|other| vec![*one, *other])).collect()
            }
            false => vec![all],
        };
        let number = sets.iter().map(|set| product(&dimensions, set)).fold(0, usize::saturating_add);
        if number > COMBINATIONS_MAX {
            return Err(Diagnostic::new(
                Code::InvalidArgument,
                format!("dimensions: there would be {number} combinations; the limit is {COMBINATIONS_MAX}."),
            )
            .suggest("Give fewer values, or cover a part of them at a time.")
            .into());
        }
        let asked: Vec<_> = sets.iter().flat_map(|set| combinations(&dimensions, set)).collect();
        let mut grid = Grid { missing: vec![true; asked.len()], dimensions, asked };
        for node in investigation.nodes() {
            grid.cover(node);
        }
        Ok(Some(grid))
    }

    /// Returns the coverage of the combinations.
    pub(super) fn coverage(&self) -> Coverage {
        let missing = self.missing.iter().filter(|missing| **missing).count();
        Coverage {
            pairwise: self.asked.first().is_some_and(|first| first.len() < self.dimensions.len()),
            total: self.asked.len(),
            covered: self.asked.len() - missing,
            missing: self
                .asked
                .iter()
                .zip(&self.missing)
                .filter(|(_, missing)| **missing)
                .take(MISSING_SHOWN)
                .map(|(asked, _)| self.named(asked))
                .collect(),
        }
    }

    /// Returns an upper bound on the number of nodes to which [`Grid::take`] can still assign a combination.
    pub(super) fn left(&self) -> usize {
        self.missing.iter().filter(|missing| **missing).count()
    }

    /// Returns a combination, with a value for every dimension, that covers missing combinations. Marks them as
    /// covered.
    pub(super) fn take(&mut self) -> Option<Combination> {
        let first = self.missing.iter().position(|missing| *missing)?;
        let mut chosen = self.asked[first].clone();
        for dimension in 0..self.dimensions.len() {
            if chosen.iter().any(|(known, _)| *known == dimension) {
                continue;
            }
            // Choose the first value that covers the most missing pairs with the values chosen so far.
            let gain = |value: usize| {
                self.asked
                    .iter()
                    .zip(&self.missing)
                    .filter(|(asked, missing)| {
                        **missing
                            && asked.contains(&(dimension, value))
                            && asked.iter().all(|part| *part == (dimension, value) || chosen.contains(part))
                    })
                    .count()
            };
            let best = (0..self.dimensions[dimension].values.len()).rev().max_by_key(|value| gain(*value))?;
            chosen.push((dimension, best));
        }
        chosen.sort_unstable();
        for (asked, missing) in self.asked.iter().zip(&mut self.missing) {
            *missing = *missing && !asked.iter().all(|part| chosen.contains(part));
        }
        Some(self.named(&chosen))
    }

    /// Marks the combinations that a node covers: those in its list or, if it has no list, those named in its text.
    fn cover(&mut self, node: &Node) {
        let text = format!("{}\n{}", node.title, node.planned_action).to_lowercase();
        let said: Vec<(String, String)> = node
            .covers
            .iter()
            .filter_map(|cover| cover.split_once('='))
            .map(|(name, value)| (name.trim().to_lowercase(), value.trim().to_lowercase()))
            .collect();
        let covered = |dimension: &Dimension| -> Vec<bool> {
            if !said.is_empty() {
                let says =
                    |value: &String| said.contains(&(dimension.name.to_lowercase(), value.to_lowercase()));
                return dimension.values.iter().map(says).collect();
            }
            let named: Vec<bool> = dimension.values.iter().map(|value| names(&text, value)).collect();
            // Text that names several values compares or lists them, so it covers none of them.
            let is_one = named.iter().filter(|named| **named).count() == 1;
            named.into_iter().map(|named| named && is_one).collect()
        };
        let named: Vec<Vec<bool>> = self.dimensions.iter().map(covered).collect();
        for (asked, missing) in self.asked.iter().zip(&mut self.missing) {
            *missing = *missing && !asked.iter().all(|(dimension, value)| named[*dimension][*value]);
        }
    }

    fn named(&self, combination: &[(usize, usize)]) -> Combination {
        combination
            .iter()
            .map(|(dimension, value)| {
                let dimension = &self.dimensions[*dimension];
                (dimension.name.clone(), dimension.values[*value].clone())
            })
            .collect()
    }
}

/// Returns the trimmed dimensions without duplicate values.
fn checked(dimensions: &[Dimension]) -> Result<Vec<Dimension>, Rejection> {
    let invalid = |message: String| -> Rejection {
        Diagnostic::new(Code::InvalidArgument, message)
            .suggest("Give dimensions like {\"database\": [\"postgres\", \"mysql\"], \"load\": [\"idle\", \"peak\"]}.")
            .for_people("Give dimensions like --dimension database=postgres,mysql --dimension load=idle,peak.")
            .into()
    };
    if dimensions.len() > DIMENSIONS_MAX {
        return Err(invalid(format!(
            "dimensions: there are {}; the limit is {DIMENSIONS_MAX}.",
            dimensions.len()
        )));
    }
    let mut checked = Vec::with_capacity(dimensions.len());
    for dimension in dimensions {
        let name = dimension.name.trim().to_owned();
        let mut values: Vec<String> = Vec::with_capacity(dimension.values.len());
        for value in dimension.values.iter().map(|value| value.trim()) {
            if !values.iter().any(|known| known.to_lowercase() == value.to_lowercase()) {
                values.push(value.to_owned());
            }
        }
        let shown: String = name.chars().take(NAME_MAX).collect();
        // A value without letters or digits can't be found as a word.
        let empty = |text: &str| !text.contains(char::is_alphanumeric);
        if values.is_empty() || empty(&name) || values.iter().any(|value| empty(value)) {
            return Err(invalid(format!("dimensions.{shown}: a name or a value is missing.")));
        }
        if values.iter().chain([&name]).any(|text| text.chars().count() > NAME_MAX) {
            return Err(invalid(format!(
                "dimensions.{shown}: a name or a value is longer than {NAME_MAX} characters."
            )));
        }
        checked.push(Dimension { name, values });
    }
    Ok(checked)
}

/// Returns the number of value combinations for the dimensions in `set`.
fn product(dimensions: &[Dimension], set: &[usize]) -> usize {
    set.iter().fold(1, |product: usize, at| product.saturating_mul(dimensions[*at].values.len()))
}

fn combinations(dimensions: &[Dimension], set: &[usize]) -> Vec<Vec<(usize, usize)>> {
    set.iter().fold(vec![Vec::new()], |begun, at| {
        let longer = |one: &Vec<(usize, usize)>, value| one.iter().copied().chain([(*at, value)]).collect();
        let values = 0..dimensions[*at].values.len();
        begun.iter().flat_map(|one| values.clone().map(move |value| longer(one, value))).collect()
    })
}

/// Returns whether the lower-case text contains the value as a whole word.
fn names(text: &str, value: &str) -> bool {
    let value = value.to_lowercase();
    text.match_indices(&value).any(|(at, _)| {
        !text[..at].ends_with(char::is_alphanumeric)
            && !text[at + value.len()..].starts_with(char::is_alphanumeric)
    })
}
