//! Judges a whole site: every page must parse without an error and contain only what is allowed.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use tree_of_thoughts::report::CONTENT_SECURITY_POLICY;

use crate::html::{Element, Page};

/// Elements that load, run, style or send something, or in which HTML's rules do not apply. No page may contain them.
const NEVER: &str = "animate animatemotion animatetransform applet audio base dialog embed feimage foreignobject frame \
    frameset iframe image img marquee math noembed noframes object picture plaintext portal set source \
    style textarea track use video xmp";

/// Attributes that load, send or style something. Those that begin with `on` need not be listed.
const NEVER_ATTRIBUTES: &str =
    "action background data formaction ping popover poster srcdoc srcset style xlink:href";

fn is_among(names: &str, name: &str) -> bool {
    names.split(' ').any(|one| one == name)
}

type Files = BTreeMap<String, Vec<u8>>;

/// Returns every problem in the site, each with its file.
pub fn faults(files: &Files) -> Vec<String> {
    let mut faults = Vec::new();
    // Fragments of links to other pages are checked once all ids are known.
    let mut ids: BTreeMap<&str, HashSet<String>> = BTreeMap::new();
    let mut fragments: Vec<(&str, String, String)> = Vec::new();
    for (path, bytes) in files {
        let mut found = Vec::new();
        // Nothing written by a stranger has a form that a browser runs.
        if is_attachment(path) && !ATTACHMENTS.iter().any(|ending| path.ends_with(ending)) {
            found.push("an attachment of that ending".to_owned());
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            if [".html", ".svg", ".xml", ".json", ".js", ".dot", ".mmd"].iter().any(|end| path.ends_with(end))
            {
                faults.push(format!("{path}: not UTF-8"));
            }
            continue;
        };
        match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
            // It holds nothing of the investigations.
            "html" if path == "404.html" => {}
            "html" => {
                let page = Page::parse(text);
                found.extend(characters(text));
                let links = judge_page(&page, path, files, &mut found);
                fragments.extend(links.into_iter().map(|(target, id)| (path.as_str(), target, id)));
                ids.insert(path, page.values("id").map(str::to_owned).collect());
            }
            "svg" | "xml" | "atom" => judge_xml(text, path, files, &mut found),
            "json" => {
                found.extend(serde_json::from_str::<serde_json::Value>(text).err().map(|e| e.to_string()))
            }
            "js" => found.extend(script_data(text)),
            _ => {}
        }
        faults.extend(found.into_iter().map(|fault| format!("{path}: {fault}")));
    }
    for (path, target, id) in fragments {
        if !ids.get(target.as_str()).is_some_and(|ids| ids.contains(&id)) {
            faults.push(format!("{path}: leads to #{id} of {target}, which has no such id"));
        }
    }
    faults
}

/// Checks a page. Returns its links to ids, as page and id.
fn judge_page(page: &Page, path: &str, files: &Files, faults: &mut Vec<String>) -> Vec<(String, String)> {
    faults.extend(page.errors.iter().map(|error| format!("the parser says: {error}")));
    if page.is_in_quirks_mode {
        faults.push("it is in quirks mode".to_owned());
    }
    let policies: Vec<&str> = page
        .named("meta")
        .filter(|meta| meta.attribute("http-equiv").is_some())
        .map(|meta| meta.attribute("content").unwrap_or_default())
        .collect();
    if policies != [CONTENT_SECURITY_POLICY] {
        faults.push(format!("its policy is {policies:?}"));
    }
    for name in ["html", "head", "title", "body", "main", "h1"] {
        let number = page.named(name).filter(|element| !element.is_in_drawing).count();
        if number != 1 {
            faults.push(format!("it has {number} × <{name}>"));
        }
    }
    let mut seen = BTreeSet::new();
    let mut links = Vec::new();
    for element in &page.elements {
        let name = element.name.to_ascii_lowercase();
        let shows = element.attribute("src").and_then(|address| resolve(path, address));
        let is_picture = name == "img" && shows.is_some_and(|shown| is_attachment(&shown));
        if is_among(NEVER, &name) && !is_picture {
            faults.push(format!("it holds <{name}>"));
        }
        // The pages' own form, which a script activates. It is sent nowhere.
        if name == "form" && element.attribute("role") != Some("search") {
            faults.push("it holds a <form> that is no search".to_owned());
        }
        if name == "script" {
            judge_script(element, faults);
        }
        if name == "input" && !matches!(element.attribute("type"), Some("checkbox" | "radio" | "search")) {
            faults.push(format!("it holds an <input> of type {:?}", element.attribute("type")));
        }
        for (key, text) in &element.attributes {
            let key = key.to_ascii_lowercase();
            if key.starts_with("on") || is_among(NEVER_ATTRIBUTES, &key) {
                faults.push(format!("<{name}> has {key}={text:?}"));
            }
            match key.as_str() {
                "id" if !seen.insert(text.as_str()) => faults.push(format!("the id {text:?} stands twice")),
                "href" | "src" => judge_address(&name, &key, text, path, files, faults, &mut links),
                _ => {}
            }
        }
    }
    for label in ["aria-labelledby", "aria-describedby", "aria-controls", "for"] {
        for id in page.values(label).flat_map(str::split_ascii_whitespace) {
            if !seen.contains(id) {
                faults.push(format!("{label} names {id:?}, which is no id"));
            }
        }
    }
    links
}

/// A script is a file of the site, or data that is never run.
fn judge_script(script: &Element, faults: &mut Vec<String>) {
    let text = &script.text;
    match (script.attribute("src"), script.attribute("type")) {
        (Some(_), None) if text.trim().is_empty() => {}
        (None, Some("application/json")) => {
            if let Err(error) = serde_json::from_str::<serde_json::Value>(text) {
                faults.push(format!("data in a script is no JSON: {error}"));
            }
        }
        (source, kind) => faults.push(format!("a script of source {source:?} and type {kind:?}: {text}")),
    }
}

/// A URL points into the site, or to the web through a link that a person clicks.
fn judge_address(
    element: &str,
    attribute: &str,
    address: &str,
    path: &str,
    files: &Files,
    faults: &mut Vec<String>,
    links: &mut Vec<(String, String)>,
) {
    let outside = ["http://", "https://", "mailto:"]
        .iter()
        .any(|scheme| address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    if outside && element == "a" && attribute == "href" {
        return;
    }
    let (target, id) = address.split_once('#').map_or((address, None), |(target, id)| (target, Some(id)));
    let target = if target.is_empty() { Some(path.to_owned()) } else { resolve(path, target) };
    match target.filter(|target| files.contains_key(target)) {
        None => faults.push(format!("<{element} {attribute}={address:?}> leads to no file of the site")),
        Some(target) if target.ends_with(".html") => {
            links.extend(id.map(|id| (target, id.to_owned())));
        }
        Some(_) => {}
    }
}

/// Returns the site's file for a relative URL on a page.
fn resolve(page: &str, address: &str) -> Option<String> {
    if address.contains(':') || address.contains('\\') || address.contains('?') {
        return None;
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in address.split('/') {
        match part {
            "" | "." => return None,
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    let (mut path, mut rest) = (Vec::new(), parts.join("/").into_bytes().into_iter());
    while let Some(byte) = rest.next() {
        path.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(path).ok()
}

/// The suffixes of attachments.
const ATTACHMENTS: [&str; 5] = [".bin", ".jpg", ".png", ".svg", ".txt"];

fn is_attachment(path: &str) -> bool {
    path.split('/').any(|part| part == "attachments")
}

fn judge_xml(text: &str, path: &str, files: &Files, faults: &mut Vec<String>) {
    let document = match roxmltree::Document::parse(text) {
        Ok(document) => document,
        Err(error) => return faults.push(format!("it is not well-formed: {error}")),
    };
    for element in document.descendants().filter(roxmltree::Node::is_element) {
        let name = element.tag_name().name().to_ascii_lowercase();
        // A separate drawing has its own style; its text is checked where it is embedded. A stranger's drawing has no
        // style and may refer to its own parts.
        let other = if is_attachment(path) { "use" } else { "style" };
        if name == "script" || (is_among(NEVER, &name) && name != other) {
            faults.push(format!("it holds <{name}>"));
        }
        for attribute in element.attributes() {
            let key = attribute.name().to_ascii_lowercase();
            if key.starts_with("on") || key == "style" {
                faults.push(format!("<{name}> has {key}={:?}", attribute.value()));
            }
            if key == "href" && is_attachment(path) && !attribute.value().starts_with('#') {
                faults.push(format!("it refers to {:?}", attribute.value()));
            }
            if key == "href" && path.ends_with(".svg") {
                judge_address("a", "href", attribute.value(), path, files, faults, &mut Vec::new());
            }
        }
    }
}

/// A data script is one JSON value, assigned to a name or passed to a function. Template scripts are not data.
fn script_data(text: &str) -> Option<String> {
    if text.contains("=>") && text.contains("\"use strict\"") {
        return None;
    }
    let start = text.find(['{', '['])?;
    let json = text[start..].trim_end().trim_end_matches(';').trim_end_matches(')');
    serde_json::from_str::<serde_json::Value>(json).err().map(|error| format!("its data is no JSON: {error}"))
}

/// Characters that no page may contain: those that HTML calls parse errors, and those that hide or reorder text.
fn characters(text: &str) -> Option<String> {
    let bad = |c: char| {
        let code = u32::from(c);
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(code, 0xfdd0..=0xfdef)
            || code & 0xfffe == 0xfffe
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}' | '\u{feff}')
    };
    text.chars().find(|c| bad(*c)).map(|c| format!("it holds the character {c:?}"))
}

#[test]
fn the_judge_sees_what_it_should() {
    let page = |body: &str| {
        format!(
            "<!doctype html><html lang=\"en\"><head><meta http-equiv=\"Content-Security-Policy\" \
             content=\"{CONTENT_SECURITY_POLICY}\"><title>x</title></head><body><main><h1>x</h1>{body}</main></body></html>"
        )
    };
    let judge = |path: &str, text: String| faults(&[(path.to_owned(), text.into_bytes())].into());
    assert_eq!(judge("x.html", page("<p id=\"a\">x <a href=\"#a\">a</a></p>")), Vec::<String>::new());
    for bad in [
        "<script>x</script>",
        "<img alt=\"\" src=\"x\">",
        "<p onclick=\"x\">x</p>",
        "<p style=\"x\">x</p>",
        "<p>x</b></p>",
        "<b><p>x</b></p>",
        "<p a=\"1\" a=\"2\">x</p>",
        "<p x\"y>x</p>",
        "&nosuch;",
        "</section>",
        "<table><p>x</p></table>",
        "<!-- <!-- x -->",
        "<p id=\"a\"></p><p id=\"a\"></p>",
        "<a href=\"javascript:x\">x</a>",
        "<a href=\"//host/x\">x</a>",
        "<a href=\"nowhere.html\">x</a>",
        "<a href=\"#nowhere\">x</a>",
        "<a href=\"../x.html\">x</a>",
        "<p aria-labelledby=\"nothing\">x</p>",
        "<svg><set></set></svg>",
        "<meta http-equiv=\"refresh\" content=\"0\">",
        "<script type=\"application/json\">{\"a\": </script>",
        "<h1>y</h1>",
        "a\u{202e}b",
        "a\u{fffe}b",
        "a\u{1}b",
    ] {
        assert_ne!(judge("x.html", page(bad)), Vec::<String>::new(), "{bad}");
    }
    for bad in [
        "<svg><p></svg>",
        "<svg>&nbsp;</svg>",
        "<svg onload=\"x\"/>",
        "<svg a=\"1\" a=\"1\"/>",
        "<svg>\u{1}</svg>",
    ] {
        assert_ne!(judge("x.svg", bad.to_owned()), Vec::<String>::new(), "{bad}");
    }
    assert_ne!(judge("x.json", "{".to_owned()), Vec::<String>::new());
    assert_ne!(judge("x.js", "window.x = {".to_owned()), Vec::<String>::new());
}
