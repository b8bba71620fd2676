//! Reads citations from untrusted Markdown and renders it as safe HTML. This is the only module that uses
//! pulldown-cmark, ammonia and linkify.
//!
//! # Guarantees
//!
//! - [`Parsed::to_html`] returns a balanced fragment that contains only the documented elements, attributes and
//!   classes. Nothing in it runs scripts, loads resources, submits forms or applies styles. All ids begin with the
//!   caller's prefix. Links point to `http`, `https` or `mailto` addresses, or to an id in the same fragment. If a link
//!   is removed, its text is kept.
//! - Raw HTML is shown as text.
//! - Characters that hide or reorder text are made visible. Control characters become control pictures (`␀`). Bidi
//!   overrides, isolates, zero-width spaces and tag characters become `�`. Joiners and plain direction marks are kept,
//!   because scripts and emoji need them.
//! - The same text always yields the same bytes. Hostile text takes about as much time as ordinary text of the same
//!   length, because nesting, elements, table columns and link lengths are limited. See [`Parsed::to_html`].
//!
//! # Limitations
//!
//! - The fragment is safe as element content, as in `<div>…</div>`, but not inside an attribute.
//! - A link may point to a malicious site, and its text may be misleading. The address shows the host in ASCII form,
//!   and addresses with user names are not linked.
//! - The caller must supply a different prefix for each fragment on a page.
//!
//! # Steps
//!
//! Text that is needed in several forms is parsed only once, with [`Parsed::new`].
//!
//! 1. `parse` turns Markdown into events, merges split text, and undoes emphasis inside bare URLs.
//! 2. `reference` finds mentions, and `source` the links that say how a passage is known. `html` renders HTML, which `sanitize` filters with ammonia and an explicit
//!    allow-list. `excerpt` extracts plain text. `terminal` formats text for a terminal.

mod excerpt;
mod html;
mod lines;
mod parse;
mod quote;
mod reference;
mod sanitize;
mod source;
mod terminal;
#[cfg(test)]
mod tests;
mod text;

pub use excerpt::{excerpt, plain_text, question};
pub use html::HtmlOptions;
pub use parse::Parsed;
pub use quote::{Reader, ShownSource, code_span, literal, quoted, quoted_with};
pub use reference::{Mention, MentionKind, UnreadableReference, own_path, references};
pub use source::{
    How, Sentence, Source, SourceTarget, named_runs, with_known, without_links, without_sources,
};
pub use terminal::to_terminal;
pub use text::node_ids;
