//! The only user of pulldown-cmark, ammonia and linkify: reads the citations of untrusted Markdown, and makes it safe for a page.
//!
//! # Guarantees
//!
//! - [`to_html`] yields a balanced fragment of the elements, attributes and classes that it documents and no
//!   others. Nothing in it runs, loads, submits, styles, or has an id outside of the caller's prefix. A link
//!   goes to `http`, `https`, `mailto`, or an id of the same fragment; no text is lost with a link.
//! - Raw HTML is text here: it is shown as it was written.
//! - Characters that hide or reorder text are shown: control characters as control pictures (`␀`), bidi
//!   overrides, isolates, zero-width spaces and tag characters as `�`. (Joiners and the plain direction marks
//!   stay: scripts and emoji need them.)
//! - The same text yields the same bytes, and hostile text costs about as much as honest text of its length:
//!   nesting, elements, table columns and link lengths are bounded, see [`to_html`].
//!
//! # Limits
//!
//! - Safe in element content only: the fragment is for `<div>…</div>`, never for an attribute.
//! - A link may still lead to a bad place, and its text may lie about it. The host is shown in its ASCII form
//!   in the address, and an address with a user name in it is not linked.
//! - Two fragments on one page need two prefixes; the caller gives them.
//!
//! # How
//!
//! A text with several uses is parsed once: [`Source::parse`].
//!
//! 1. `parse` turns Markdown into events, merges text that the parser split, and undoes emphasis inside of
//!    bare URLs.
//! 2. `reference` reads mentions from them; `html` filters and writes them, `sanitize` filters the result again
//!    (ammonia, with an explicit list); `excerpt` keeps the text; `terminal` is for people at one.

mod excerpt;
mod html;
mod parse;
mod reference;
mod sanitize;
mod terminal;
#[cfg(test)]
mod tests;
mod text;

pub use excerpt::{excerpt, plain_text};
pub use html::{HtmlOptions, to_html};
pub use parse::{Parsed, Source};
pub use reference::{Mention, MentionKind, UnreadableReference, own_path, references, unreadable_references};
pub use terminal::to_terminal;
