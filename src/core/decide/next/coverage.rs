//! The coverage of combinations of dimensions' values by nodes.
//!
//! A combination is one value of every dimension. While the full product is small ([`PRODUCT_MAX`]) or there are fewer
//! than three dimensions, every combination is asked for; else every pair of values of two dimensions (pairwise
//! coverage), of which one node can cover many at once. A node, committed or pending, covers what it says under `covers`
//! (`engine=gix`). One that says nothing there covers a combination if its title and planned action name all its values, and
//! no other value of the same dimensions: as whole words, in any letter case.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::decide::Rejection;
use crate::domain::{Code, Diagnostic, Investigation, Node};

/// From three dimensions on, a larger product than this is covered by pairs.
const PRODUCT_MAX: usize = 64;

/// The most combinations that are considered.
const COMBINATIONS_MAX: usize = 1_000;

/// The most dimensions, and the most characters of a name or a value: all of them go into one planned action.
const DIMENSIONS_MAX: usize = 10;
const NAME_MAX: usize = 80;

/// The most missing combinations that a reply lists.
const MISSING_SHOWN: usize = 20;

/// One dimension and its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dimension {
    /// The name of the dimension: `database`.
    pub name: String,
    /// The values it takes: `postgres`, `mysql`.
    pub values: Vec<String>,
}

/// One value of each of some dimensions: pairs of name and value.
pub type Combination = Vec<(String, String)>;

/// The coverage of the combinations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Whether pairs of values are counted instead of whole combinations.
    pub pairwise: bool,
    /// The number of combinations.
    pub total: usize,
    /// The number of them that some node covers.
    pub covered: usize,
    /// The first ones that none names.
    #[serde(serialize_with = "as_maps")]
    pub missing: Vec<Combination>,
}

fn as_maps<S: Serializer>(combinations: &[Combination], serializer: S) -> Result<S::Ok, S::Error> {
    let map = |combination: &Combination| combination.iter().cloned().collect::<BTreeMap<_, _>>();
    serializer.collect_seq(combinations.iter().map(map))
}

/// The combinations that are asked for, and which of them no node has yet.
pub(super) struct Grid {
    dimensions: Vec<Dimension>,
    /// Each a list of (dimension, value), by index, in the order of the dimensions.
    asked: Vec<Vec<(usize, usize)>>,
    missing: Vec<bool>,
}

impl Grid {
    /// The grid of these dimensions over the nodes; `None` where there is no dimension.
    pub(super) fn new(
        investigation: &Investigation,
        dimensions: &[Dimension],
    ) -> Result<Option<Grid>, Rejection> {
        if dimensions.is_empty() {
            return Ok(None);
        }
        let dimensions = checked(dimensions)?;
        let product =
            dimensions.iter().fold(1_usize, |product, next| product.saturating_mul(next.values.len()));
        let pairwise = dimensions.len() > 2 && product > PRODUCT_MAX;
        let number = if pairwise { pairs(&dimensions) } else { product };
        if number > COMBINATIONS_MAX {
            return Err(Diagnostic::new(
                Code::InvalidArgument,
                format!("dimensions: there would be {number} combinations; the limit is {COMBINATIONS_MAX}."),
            )
            .suggest("Give fewer values, or cover a part of them at a time.")
            .into());
        }
        let mut asked = Vec::with_capacity(number);
        if pairwise {
            for one in 0..dimensions.len() {
                for other in one + 1..dimensions.len() {
                    for value in 0..dimensions[one].values.len() {
                        asked.extend(
                            (0..dimensions[other].values.len())
                                .map(|second| vec![(one, value), (other, second)]),
                        );
                    }
                }
            }
        } else {
            asked.push(Vec::new());
            for (index, dimension) in dimensions.iter().enumerate() {
                asked = asked
                    .into_iter()
                    .flat_map(|begun: Vec<(usize, usize)>| {
                        (0..dimension.values.len()).map(move |value| {
                            begun.iter().copied().chain([(index, value)]).collect::<Vec<_>>()
                        })
                    })
                    .collect();
            }
        }
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

    /// Returns an upper bound on the nodes to which [`Grid::take`] could still give a combination.
    pub(super) fn left(&self) -> usize {
        self.missing.iter().filter(|missing| **missing).count()
    }

    /// Takes a combination with a value of every dimension that covers missing ones, and marks them as covered.
    pub(super) fn take(&mut self) -> Option<Combination> {
        let first = self.missing.iter().position(|missing| *missing)?;
        let mut chosen = self.asked[first].clone();
        for dimension in 0..self.dimensions.len() {
            if chosen.iter().any(|(known, _)| *known == dimension) {
                continue;
            }
            // The value that covers most missing pairs with those chosen before; of equals, the first.
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

    /// Marks the combinations that a node covers: those it states, or else those its text names.
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
            // A text that names several values compares them, or lists them: it covers none.
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

/// The dimensions trimmed, each value once.
fn checked(dimensions: &[Dimension]) -> Result<Vec<Dimension>, Rejection> {
    let invalid = |message: String| -> Rejection {
        Diagnostic::new(Code::InvalidArgument, message)
            .suggest("Give dimensions like {\"database\": [\"postgres\", \"mysql\"], \"load\": [\"idle\", \"peak\"]}.")
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
        // A value without a letter or digit could not be found as a word.
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

fn pairs(dimensions: &[Dimension]) -> usize {
    let sizes = dimensions.iter().map(|dimension| dimension.values.len());
    let (sum, squares) = sizes.fold((0_usize, 0_usize), |(sum, squares), size| {
        (sum.saturating_add(size), squares.saturating_add(size.saturating_mul(size)))
    });
    sum.saturating_mul(sum).saturating_sub(squares) / 2
}

/// Whether a text (in lower case) names the value as a whole word.
fn names(text: &str, value: &str) -> bool {
    let value = value.to_lowercase();
    text.match_indices(&value).any(|(at, _)| {
        !text[..at].ends_with(char::is_alphanumeric)
            && !text[at + value.len()..].starts_with(char::is_alphanumeric)
    })
}
