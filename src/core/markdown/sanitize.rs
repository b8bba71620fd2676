//! The second filter: ammonia, configured to allow only the elements and attributes that `html` writes.
//!
//! Anything else that slips through the first filter is parsed as a browser would parse it and then dropped.

use std::{borrow::Cow, collections::HashMap, sync::LazyLock};

use ammonia::{Builder, UrlRelative};

use super::text::is_web_url;

/// The `rel` of every external link. The target learns nothing about the page, and search engines do not follow the
/// link.
pub(super) const REL: &str = "noopener noreferrer nofollow ugc";

/// The allowed elements and their attributes.
pub(super) const ALLOWED: &[(&str, &[&str])] = &[
    ("a", &["href", "rel", "title", "class", "id", "aria-label"]),
    ("blockquote", &[]),
    ("br", &[]),
    ("code", &["class"]),
    ("del", &[]),
    ("div", &["class", "role", "tabindex", "aria-label"]),
    ("em", &[]),
    ("h2", &["id"]),
    ("h3", &["id"]),
    ("h4", &["id"]),
    ("h5", &["id"]),
    ("h6", &["id"]),
    ("hr", &[]),
    ("input", &["type", "disabled", "checked", "aria-label"]),
    ("li", &["id", "class"]),
    ("ol", &["start"]),
    ("p", &["class"]),
    ("pre", &["class", "tabindex"]),
    ("section", &["class"]),
    ("span", &["class"]),
    ("strong", &[]),
    ("sup", &["class"]),
    ("table", &[]),
    ("tbody", &[]),
    ("td", &["class"]),
    ("th", &["class", "scope"]),
    ("thead", &[]),
    ("tr", &[]),
    ("ul", &[]),
];

/// The allowed classes for each element, except for `language-…` on `code`.
pub(super) const CLASSES: &[(&str, &[&str])] = &[
    ("a", &["image-link", "footnote-backref", "node-ref", "file-ref", "source", "anchor"]),
    (
        "div",
        &[
            "table-scroll",
            "markdown-alert markdown-alert-note",
            "markdown-alert markdown-alert-tip",
            "markdown-alert markdown-alert-important",
            "markdown-alert markdown-alert-warning",
            "markdown-alert markdown-alert-caution",
        ],
    ),
    ("li", &["task-list-item"]),
    ("p", &["markdown-alert-title"]),
    ("pre", &["raw-html"]),
    ("section", &["footnotes"]),
    ("span", &["image-alt", "link-target", "line-added", "line-removed"]),
    ("sup", &["footnote-ref"]),
    ("td", &["align-left", "align-center", "align-right"]),
    ("th", &["align-left", "align-center", "align-right"]),
];

static BUILDER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut builder = Builder::empty();
    builder
        .tags(ALLOWED.iter().map(|(tag, _)| *tag).collect())
        .tag_attributes(
            ALLOWED
                .iter()
                .map(|(tag, names)| (*tag, names.iter().copied().collect()))
                .collect::<HashMap<_, _>>(),
        )
        .url_schemes(["http", "https", "mailto"].into())
        // Links inside the page count as relative. The filter below rejects all other relative addresses.
        .url_relative(UrlRelative::PassThrough)
        .link_rel(None)
        .attribute_filter(|element, attribute, value| {
            is_allowed(element, attribute, value).then_some(Cow::Borrowed(value))
        });
    builder
});

/// Parses the fragment as a browser would and drops everything that `html` would not have written.
pub(super) fn sanitize(html: &str) -> String {
    BUILDER.clean(html).to_string()
}

/// Returns true if `html` could have written the value. Only `title` and `aria-label` may contain free text.
pub(super) fn is_allowed(element: &str, attribute: &str, value: &str) -> bool {
    match attribute {
        "href" => value.starts_with('#') || value.starts_with("mailto:") || is_web_url(value),
        "rel" => value == REL,
        "class" if element == "code" => value.strip_prefix("language-").is_some_and(is_language),
        "class" => CLASSES.iter().any(|(tag, classes)| *tag == element && classes.contains(&value)),
        "id" => ["-fn-", "-fnref-", "-h-"].iter().any(|part| value.contains(part)),
        "role" => matches!(value, "group" | "note"),
        "tabindex" => value == "0",
        "scope" => value == "col",
        "type" => value == "checkbox",
        "start" => value.bytes().all(|byte| byte.is_ascii_digit()),
        "disabled" | "checked" => value.is_empty(),
        "title" | "aria-label" => true,
        _ => false,
    }
}

/// Returns true if a word may be the language of a code block.
pub(super) fn is_language(word: &str) -> bool {
    (1..=30).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'+' | b'-'))
}
