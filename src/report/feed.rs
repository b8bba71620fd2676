//! `feed.xml`: an Atom feed (RFC 4287) of the ended investigations.
//!
//! The id of an entry is derived from the id of its investigation, so it survives a move of the site. If an investigation is
//! reopened and ended again, its entry is updated. Untrusted text is written as plain text.

use std::fmt::Write as _;

use super::address::BaseUrl;
use super::model::TopView;
use super::sites::SiteEntry;
use crate::text::escape;

/// The file name.
pub(super) const PATH: &str = "feed.xml";
/// The title of the feed, also used for links to it.
pub(super) const TITLE: &str = "Ended investigations";
/// The maximum number of entries. Feed readers keep older entries.
const LONGEST: usize = 100;

/// Returns the feed.
pub(super) fn feed(entries: &[SiteEntry], base: &BaseUrl, generator: &str) -> Vec<u8> {
    let mut ended: Vec<(&str, &SiteEntry)> = entries
        .iter()
        .filter_map(|entry| Some((entry.facts.ended_at.as_ref()?.iso.as_str(), entry)))
        .collect();
    ended.sort_by(|a, b| (b.0, &b.1.facts.id).cmp(&(a.0, &a.1.facts.id)));
    ended.truncate(LONGEST);
    // If no investigation has ended, the feed uses the time of the newest change, so identical commits give identical bytes.
    let changed = entries.iter().map(|entry| entry.changed_at.iso.as_str()).max();
    let updated = ended.first().map(|(at, _)| *at).or(changed).unwrap_or("1970-01-01T00:00:00Z");
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n");
    xml.push_str("<feed xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"en\">\n");
    element(&mut xml, 1, "title", TITLE);
    element(&mut xml, 1, "id", &base.of(PATH));
    element(&mut xml, 1, "updated", updated);
    element(&mut xml, 1, "generator", generator);
    link(&mut xml, 1, "self", "application/atom+xml", &base.of(PATH));
    link(&mut xml, 1, "alternate", "text/html", base.folder());
    for (at, entry) in ended {
        xml.push_str("  <entry>\n");
        element(&mut xml, 2, "title", or(&entry.facts.title, "Untitled"));
        element(&mut xml, 2, "id", &format!("urn:uuid:{}", entry.facts.id));
        element(&mut xml, 2, "updated", at);
        xml.push_str("    <author>\n");
        element(&mut xml, 3, "name", or(&entry.concluded_by, "Unknown"));
        xml.push_str("    </author>\n");
        link(&mut xml, 2, "alternate", "text/html", &base.of(&entry.href));
        let TopView { what, words, .. } = &entry.top;
        let top = if words.is_empty() { what.to_string() } else { format!("{what}, {words}") };
        let summary =
            format!("{top}.\n{}\n{}\n{}", entry.verdict, entry.facts.query_excerpt, entry.conclusion);
        element(&mut xml, 2, "summary", summary.trim());
        xml.push_str("  </entry>\n");
    }
    xml.push_str("</feed>\n");
    xml.into_bytes()
}

fn or<'t>(text: &'t str, otherwise: &'t str) -> &'t str {
    if text.trim().is_empty() { otherwise } else { text }
}

// Writing to a String cannot fail.

fn element(xml: &mut String, depth: usize, name: &str, text: &str) {
    let _ = writeln!(xml, "{:1$}<{name}>{2}</{name}>", "", depth * 2, escape(text));
}

fn link(xml: &mut String, depth: usize, relation: &str, kind: &str, href: &str) {
    let indent = "  ".repeat(depth);
    let _ = writeln!(xml, "{indent}<link rel=\"{relation}\" type=\"{kind}\" href=\"{}\"/>", escape(href));
}
