//! Pictures of an investigation: DOT for Graphviz and agents, Mermaid for READMEs, and an SVG of our own. Pure: no
//! file, clock or git; the same investigation yields the same bytes.
//!
//! - [`dot()`], [`mermaid()`]: texts for other programs.
//! - [`Pages`]: the nodes on each picture: all on one, or on maps (`maps`), since nobody can read a picture of 1,000 cards.
//!   Each page of a map is drawn as cards or as an icicle.
//! - [`svg()`]: the picture of a page. `svg` decides the content of each card, and `place` its place. `icicle` draws a cell for
//!   a node, and small branches together.
//! - [`bar()`], [`Tallies`]: counts of nodes by kind, as a bar.
//! - [`path()`]: the way to an answer: one line from the question to it, with the lines that join it and branch off.
//! - [`palette()`], [`stylesheet()`]: the colours, and the style of a standalone picture.
//!
//! # Selectors for stylesheets
//!
//! An inline picture has no colours of its own but `currentColor`; the page's stylesheet gives it these. Sizes,
//! widths of lines and dashes are attributes of the markup and need no style.
//!
//! | selector | element |
//! |---|---|
//! | `svg.graph` | the picture |
//! | `.background`, `.legend` | the background and the head of a standalone picture |
//! | `.edges > .edge` | a line from parent to child; `.to-dead` and `.to-proposed` are dashed |
//! | `.edge.on-path` | on the way from a root to a solution that a node confirms; thicker |
//! | `.edge.on-path.doubted` | to one that only its author has checked, or that is contested; dashed |
//! | `.cards > .card` | a card: `<a>`, or `<g>` when cards are not links |
//! | `.card.role-…` | `role-open`, `role-awaitingConfirmation`, `role-solution`, `role-confirmation`, `role-theory`, `role-exhausted`, `role-deadEnd` |
//! | `.card.proposed` | a pending proposal (it has no role); its outline is dashed |
//! | `.card.confirmed`, `.card.self-checked`, `.card.unconfirmed`, `.card.contested` | an answer |
//! | `.card.contested` | a solution that somebody objects to |
//! | `.card.refuted` | a node that another refutes |
//! | `.card.on-path` | on the way from a root to a solution that a node confirms; with `.doubted` as for edges |
//! | `.card.best-answer` | the best answer of the picture |
//! | `.card-box`, `.card-bar` | the card's outline, and the bar at its left edge in the colour of the role |
//! | `.card-id`, `.card-state`, `.card-title` | texts: the id, the state's name (or `proposed`), a line of the title |
//! | `.card-note` | text: how sure it is |
//! | `.sign.role-…`, `.sign.proposed` | the small drawing beside the state's name |
//! | `.cards > a.more`, `.more-box`, `.more-arrow` | the way from a branch back to the map of which it is a part |
//! | `.tally > rect` | a part of a bar of states, of the class of its role and of how sure it is |
//! | `svg.icicle`, `.cells > .cell` | an icicle, and a node in it, with the classes of a card; `.thin` where it is too narrow for a line |
//! | `.cell.together` | branches that are drawn together: a `.more-box` for their number, and a `.tally` of what they are |
//! | `.cell > .full`, `.tint`, `.hollow` | a confirmed solution, an open node, what is in doubt; all others have a pattern |
//! | `.hatch` | a pattern, of the class of its role, or `.doubt`, `.proposed` |
//! | `.way`, `.cell-sign`, `.flag` | the line of the way in a cell, how sure an answer is, and where the best answer is |
//! | `svg.path.wide`, `svg.path.tall` | the path to an answer for a window, and for a phone |
//! | `.line`, `.join`, `.twig` | its lines: the path, what joins at its end, and what branches off; also the texts of the latter two |
//! | `.stop.question`, `.step`, `.fold`, `.end` | a stop on it: a `.dot`, and a text `.found`; at its end with a `.note` and a `.dot-sign` |
//! | `.line.…`, `.stop.…`, `.join.…`, `.twig.…` | the class of a verdict, or `open`, `quiet` |
//! | `.hit` | where a stop or a twig can be clicked |
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
mod path;
mod place;
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
pub use path::{PathLinks, PathPicture, path};
pub use svg::{PageHref, Svg, SvgOptions, sign, svg};
