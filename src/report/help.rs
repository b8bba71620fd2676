//! Builds a site from the `tot help` topics, in the style of a report.

use std::collections::BTreeMap;

use serde::Serialize;

use super::page_head::PageHead;
use super::site::{Builder, PageInfo, Site};
use super::templates::SafeHtml;
use super::text_links::{From, TextLinks};
use super::{ReportError, SiteOptions, Templates};

/// The name of a topic and its Markdown, whose first line is the title.
pub type Topic<'a> = (&'a str, &'a str);

#[derive(Serialize)]
struct HelpPage<'a> {
    site: Site<'a>,
    page: PageInfo<'a>,
    head: PageHead,
    topics: &'a [TopicLink<'a>],
    /// The topic of the page, or `None` on the index.
    text: Option<SafeHtml>,
}

#[derive(Serialize)]
struct TopicLink<'a> {
    href: String,
    title: &'a str,
    /// The first paragraph.
    lead: &'a str,
}

/// Returns a page for each topic, and an `index.html` that lists the topics.
///
/// # Errors
///
/// Returns an error if a template fails.
pub fn help_site(topics: &[Topic<'_>]) -> Result<BTreeMap<String, Vec<u8>>, ReportError> {
    let templates = Templates::load(&SiteOptions::default())?;
    let linked: Vec<TopicLink<'_>> = topics
        .iter()
        .map(|(name, text)| {
            let (title, rest) = text.split_once("\n\n").unwrap_or((text, ""));
            let lead = rest.split("\n\n").next().unwrap_or_default();
            TopicLink { href: format!("{name}.html"), title: title.trim_start_matches("# "), lead }
        })
        .collect();
    let builder = Builder::new(&templates, false);
    let mut files = BTreeMap::new();
    builder.assets(&mut |path, bytes| {
        files.insert(path.to_owned(), bytes);
        Ok(())
    })?;
    let site = builder.site("");
    let page = |title, text| {
        let page = PageInfo { kind: "help", root: "", site_root: "", title, description: "" };
        let page = HelpPage { site, page, head: PageHead::index(None), topics: &linked, text };
        let from = From::Page { root: "", own: None };
        // Topics have no investigation, so their node ids are only examples and are not linked.
        Ok::<_, ReportError>(TextLinks::default().put_into(templates.render("help.html", &page)?, from))
    };
    files.insert("index.html".to_owned(), page("Help", None)?);
    for ((_, text), linked) in topics.iter().zip(&linked) {
        let text = text.split_once('\n').map_or("", |(_, rest)| rest);
        files.insert(linked.href.clone(), page(linked.title, Some(SafeHtml::markdown(text, "help", 2)))?);
    }
    Ok(files)
}
