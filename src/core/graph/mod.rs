//! Pictures of an investigation: DOT for Graphviz and agents, Mermaid for READMEs, and SVG for pages.
//!
//! This module is pure. It does not use files, the clock or git, and the same investigation always yields the same
//! bytes.
//!
//! - [`dot()`], [`mermaid()`]: source text for other programs.
//! - [`DrawnTree`]: the nodes in preorder, and those that a picture shows. A picture of 1,000 cards is unreadable, so it shows
//!   the path to the best answer and the first rounds.
//! - [`svg()`]: the picture of the tree, with a card per node. `svg` decides the content of each card and `place` its
//!   position.
//! - [`palette()`], [`stylesheet()`]: the colours, and the stylesheet of a standalone picture.
//!
//! # Selectors for stylesheets
//!
//! An inline picture uses only `currentColor`. The page's stylesheet colours it through these selectors. Sizes, line
//! widths and dashes are attributes in the markup and need no stylesheet.
//!
//! | selector | element |
//! |---|---|
//! | `svg.graph` | a picture |
//! | `.background` | the background of a standalone picture |
//! | `.edges > .edge` | an edge from parent to child; dashed with `.to-dead` or `.to-proposed` |
//! | `.edge.on-path` | a thicker edge on the path to a checked answer |
//! | `.edge.on-path.doubted` | a dashed edge on the path to an answer that is contested or was checked only by its author |
//! | `.cards > .card` | a card: `<a>`, or `<g>` if cards are not links |
//! | `.card.role-…` | `role-open`, `role-awaitingConfirmation`, `role-solution`, `role-confirmation`, `role-theory`, `role-exhausted`, `role-deadEnd` |
//! | `.card.proposed` | a proposal, which has no role; its outline is dashed |
//! | `.card.confirmed`, `.card.self-checked`, `.card.unconfirmed`, `.card.contested` | an answer |
//! | `.card.refuted`, `.card.undermined` | a refuted node, and an answer that rests on one |
//! | `.card.refutes` | a node that refutes its parent, which has no role |
//! | `.card.on-path` | a card on the path to a checked answer; `.doubted` as for edges |
//! | `.card.best-answer` | the best answer in the picture |
//! | `.card-box`, `.card-bar` | the outline of a card, and the bar at its left edge in the colour of the role |
//! | `.card-id`, `.card-state`, `.card-title` | the id, the state label (`Proposed` for a proposal) and a line of the title |
//! | `.card-note` | the verdict, and the number of nodes below that are not shown |
//! | `.sign.role-…`, `.sign.proposed`, `.sign.doubt` | the sign next to the state |
//!
//! The custom properties are `--graph-background`, `--graph-card`, `--graph-card-muted` (dead ends and exhausted
//! paths), `--graph-border`, `--graph-text`, `--graph-quiet`, `--graph-edge`, `--graph-doubt`, and one per role:
//! `--role-open`, `--role-awaitingConfirmation`, `--role-solution`, `--role-confirmation`, `--role-theory`,
//! `--role-exhausted`, `--role-deadEnd`. [`palette()`] has their values for light and dark pages.

mod dot;
mod markup;
mod mermaid;
mod palette;
mod place;
#[cfg(test)]
mod samples;
mod svg;
mod text;
mod tree;

pub use dot::dot;
pub use mermaid::{mermaid, mermaid_of};
pub use palette::ROLES;
pub use palette::{Colour, DOUBT, class as role_class, palette, role as role_colour, stylesheet};
pub use svg::{Svg, SvgOptions, sign, svg};
pub use tree::{DrawnTree, Way};
