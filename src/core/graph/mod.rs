//! Pictures of an investigation: DOT for Graphviz and agents, Mermaid for READMEs, and an SVG of our own. Pure: no
//! file, clock or git; the same investigation yields the same bytes.
//!
//! - [`dot()`], [`mermaid()`]: texts for other programs.
//! - [`Pages`]: which nodes stand on which picture, since nobody can read one of 1,000 cards. One picture of cards, whose
//!   branches are cut off, or maps (`maps`), of which each page is drawn as can be read: as cards, or as an icicle.
//! - [`svg()`]: the picture of a page. `svg` decides what stands on each card, and `place` where it stands. `icicle` draws a
//!   cell for a node, and small branches together.
//! - [`bar()`], [`Tallies`]: how many nodes are what, as a bar.
//! - [`reasons()`]: the picture of an answer and its reasons, which is no tree. `ranked` (the one file that names layout-rs) says
//!   where its boxes stand and its lines run.
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
//! | `.background`, `.legend` | what is behind and above a picture that stands alone |
//! | `.edges > .edge` | a line from parent to child; `.to-dead` and `.to-proposed` are dashed |
//! | `.edge.way-on`, `.confirms`, `.checks`, `.refutes`, `.names`, `.cites` | lines between an answer and its reasons, each a group with its head |
//! | `.card.note-question`, `.note-source`, `.note-rest` | boxes there that are no nodes |
//! | `.edge.on-path` | on the way from a root to a solution that a node confirms; thicker |
//! | `.edge.on-path.doubted` | to one that only its author has checked, or that is contested; dashed |
//! | `.cards > .card` | a card: `<a>`, or `<g>` when cards are not links |
//! | `.card.role-…` | `role-open`, `role-awaitingConfirmation`, `role-solution`, `role-confirmation`, `role-theory`, `role-exhausted`, `role-deadEnd` |
//! | `.card.proposed` | a pending proposal (it has no role); its outline is dashed |
//! | `.card.confirmed`, `.card.self-checked`, `.card.unconfirmed`, `.card.contested` | an answer |
//! | `.card.contested` | a solution that somebody objects to |
//! | `.card.refuted` | what another node refutes |
//! | `.card.on-path` | on the way from a root to a solution that a node confirms; with `.doubted` as for edges |
//! | `.card.best-answer` | the best answer of the picture |
//! | `.card-box`, `.card-bar` | the card's outline, and the bar at its left edge in the colour of the role |
//! | `.card-id`, `.card-state`, `.card-title` | texts: the id, the state's name (or `proposed`), a line of the title |
//! | `.card-note` | text: how sure it is |
//! | `.sign.role-…`, `.sign.proposed` | the small drawing beside the state's name |
//! | `.cards > .behind` | the edge of another card behind one whose branch was cut off |
//! | `.cards > a.more`, `.more-box`, `.more-arrow` | the way into that branch, `+37 in this branch`, or back out of it |
//! | `.tally > rect` | a part of the bar of states in that way, of the class of its role and of how sure it is |
//! | `svg.icicle`, `.cells > .cell` | an icicle, and a node in it, with the classes of a card; `.thin` where it is too narrow for a line |
//! | `.cell.together` | branches that are drawn together: a `.more-box` for their number, and a `.tally` of what they are |
//! | `.cell > .full`, `.tint`, `.hollow` | a confirmed solution, an open node, what is in doubt; all others have a pattern |
//! | `.hatch` | a pattern, of the class of its role, or `.doubt`, `.proposed` |
//! | `.way`, `.cell-sign`, `.flag` | the line of the way in a cell, how sure an answer is, and where the best answer is |
//! | `.if-narrow`, `.if-wide` | the same label for a page that is less than 86 rem wide, and for any other |
//!
//! Custom properties: `--graph-background`, `--graph-card`, `--graph-card-muted` (dead ends and exhausted paths),
//! `--graph-border`, `--graph-text`, `--graph-quiet`, `--graph-edge`, `--graph-doubt`, and one per role: `--role-open`,
//! `--role-awaitingConfirmation`, `--role-solution`, `--role-confirmation`, `--role-theory`, `--role-exhausted`,
//! `--role-deadEnd`. [`palette()`] has their values for light and dark pages.

mod bar;
mod dot;
mod icicle;
mod maps;
mod mermaid;
mod pages;
mod palette;
mod place;
mod ranked;
#[cfg(test)]
mod samples;
mod svg;
mod text;

pub use bar::{BAR, BarPart, Kind, Tallies, bar};
pub use dot::dot;
pub use icicle::swatch;
pub use maps::Row;
pub use mermaid::{mermaid, mermaid_of};
pub use pages::{Drawn, Page, Pages, REFUTATION, Way};
pub use palette::ROLES;
pub use palette::{Colour, DOUBT, class as role_class, palette, role as role_colour, stylesheet};
pub use svg::{PageHref, ReasonBox, ReasonKind, ReasonLine, Reasons, Svg, SvgOptions, reasons, sign, svg};
