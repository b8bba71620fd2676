//! Pictures of an investigation: DOT for Graphviz and agents, Mermaid for READMEs, and an SVG of our own. Pure: no
//! file, clock or git; the same investigation yields the same bytes.
//!
//! - [`dot()`], [`mermaid()`]: texts for other programs.
//! - [`svg()`]: the picture of the report. `svg` decides what stands on each card, `place` where it stands, `draw`
//!   (the one file that names layout-rs) calls back for each card and edge.
//! - [`palette()`], [`stylesheet()`]: the colours, and the style of a picture that stands alone.
//!
//! # What a stylesheet can take hold of
//!
//! An inline picture has no colours of its own but `currentColor`; the page's stylesheet gives it these. Sizes,
//! widths of lines and dashes are attributes of the markup and need no style.
//!
//! | selector | what it is |
//! |---|---|
//! | `svg.graph` | the picture |
//! | `.background` | the rectangle behind a picture that stands alone |
//! | `.edges > .edge` | a line from parent to child; dashed where it leads to a dead end or a proposal |
//! | `.edge.on-path` | on the way from a root to a verified solution; thicker |
//! | `.cards > .card` | a card: `<a>`, or `<g>` when cards are no links |
//! | `.card.role-…` | `role-open`, `role-awaitingConfirmation`, `role-solution`, `role-confirmation`, `role-theory`, `role-exhausted`, `role-deadEnd` |
//! | `.card.proposed` | a pending proposal (it has no role); its outline is dashed |
//! | `.card.verified`, `.card.unverified` | a solution |
//! | `.card.on-path` | on the way from a root to a verified solution |
//! | `.card-box`, `.card-bar` | the card's outline, and the bar at its left edge in the colour of the role |
//! | `.card-id`, `.card-state`, `.card-title` | texts: the id, the state's name (or `proposed`), a line of the title |
//! | `.card-note`, `.card-more` | texts: `✓ verified` or `unverified`; `+12`, the descendants left out |
//!
//! Custom properties: `--graph-background`, `--graph-card`, `--graph-card-muted` (dead ends and exhausted paths),
//! `--graph-border`, `--graph-text`, `--graph-quiet`, `--graph-edge`, and one per role: `--role-open`,
//! `--role-awaitingConfirmation`, `--role-solution`, `--role-confirmation`, `--role-theory`, `--role-exhausted`,
//! `--role-deadEnd`. [`palette()`] has their values for light and dark pages.

mod dot;
mod draw;
mod mermaid;
mod palette;
mod place;
#[cfg(test)]
mod samples;
mod svg;
mod text;

pub use dot::dot;
pub use mermaid::mermaid;
pub use palette::{Colour, palette, role as role_colour, stylesheet};
pub use svg::{Svg, SvgOptions, svg};
