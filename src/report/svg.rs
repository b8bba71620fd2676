//! Sanitizes untrusted drawings. The result contains shapes, text and colors, but no scripts or external resources.
//!
//! Guarantees: only allowed elements and attributes are kept, references stay within the drawing, and drawings that are
//! too expensive for a browser are refused. Pages show the result with `<img>`, which does not run scripts or load
//! resources. The guarantees protect readers who open the file directly.
//!
//! Limitations: `<style>` elements are removed, along with the colors they define. There are no animations, filters or
//! embedded pictures.

use std::collections::{BTreeMap, HashMap, HashSet};

use roxmltree::{Document, Node, ParsingOptions};

use crate::text::escape;

/// The maximum number of XML nodes: elements, text nodes and comments.
const NODES_MAX: u32 = 100_000;

/// The maximum size in bytes. Larger drawings are shown as text.
const BYTES_MAX: usize = 256 << 10;

/// The maximum number of attributes per element.
const ATTRIBUTES_MAX: usize = 200;

/// The maximum number of elements drawn through `use` and clip paths.
const DRAWN_MAX: usize = 50_000;

/// The maximum nesting depth of elements.
const DEPTH_MAX: usize = 64;

const SVG: &str = "http://www.w3.org/2000/svg";
const XLINK: &str = "http://www.w3.org/1999/xlink";

/// The allowed elements, separated by spaces.
const ELEMENTS: &str = "svg g path rect circle ellipse line polyline polygon text tspan title desc defs linearGradient \
    radialGradient stop clipPath symbol use";

/// The allowed attributes, separated by spaces.
const ATTRIBUTES: [&str; 7] = [
    "id viewBox preserveAspectRatio width height x y x1 y1 x2 y2",
    "dx dy cx cy r rx ry fx fy d points",
    "pathLength transform offset rotate textLength lengthAdjust gradientUnits gradientTransform spreadMethod clipPathUnits fill",
    "fill-opacity fill-rule stroke stroke-width stroke-opacity stroke-linecap stroke-linejoin stroke-miterlimit stroke-dasharray stroke-dashoffset color",
    "opacity display visibility clip-path clip-rule stop-color stop-opacity font-family font-size font-style font-weight",
    "font-variant font-stretch text-anchor text-decoration text-rendering shape-rendering dominant-baseline alignment-baseline baseline-shift letter-spacing word-spacing",
    "writing-mode vector-effect",
];

/// Returns the sanitized drawing, or `None` if the text is not a drawing or is too large.
pub(super) fn sanitized(text: &str) -> Option<String> {
    if is_too_costly(text) {
        return None;
    }
    // Drawing programs write a document type declaration. The document type is not loaded.
    let options = ParsingOptions { allow_dtd: true, nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).ok()?;
    let root = document.root_element();
    if !is_kept(root) || root.tag_name().name() != "svg" || !is_shallow(root, DEPTH_MAX) {
        return None;
    }
    // Nested `use` elements would multiply the elements drawn at each level.
    let uses = |node: Node<'_, '_>| node.descendants().filter(|it| it.has_tag_name((SVG, "use"))).count();
    let usable: HashSet<&str> = root
        .descendants()
        .filter(|node| !node.has_tag_name((SVG, "clipPath")) && uses(*node) == 0)
        .filter_map(|node| node.attribute("id"))
        .collect();
    if drawn(root) > DRAWN_MAX {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    write(root, &usable, &mut out);
    Some(out)
}

fn is_kept(node: Node<'_, '_>) -> bool {
    node.tag_name().namespace() == Some(SVG) && ELEMENTS.split(' ').any(|it| it == node.tag_name().name())
}

/// Returns true if the text is too large or too expensive to parse. Entities can expand to large text, and the parser compares
/// all attributes of an element with each other.
fn is_too_costly(text: &str) -> bool {
    let has_entities = text.as_bytes().windows(8).any(|part| part.eq_ignore_ascii_case(b"<!entity"));
    let mut attributes = text.split('<').map(|element| element.matches('=').count());
    text.len() > BYTES_MAX || has_entities || attributes.any(|number| number > ATTRIBUTES_MAX)
}

/// Returns true if the nesting is within the limit.
fn is_shallow(node: Node<'_, '_>, depth: usize) -> bool {
    depth > 0 && node.children().all(|child| is_shallow(child, depth - 1))
}

/// Returns the number of additional elements to draw: those in the target of each `use`, and those in the clip path of
/// each clipped element.
fn drawn(root: Node<'_, '_>) -> usize {
    let mut sizes: HashMap<&str, usize> = HashMap::new();
    for node in root.descendants() {
        if let Some(id) = node.attribute("id") {
            sizes.insert(id, node.descendants().count());
        }
    }
    let largest_clip = root.descendants().filter(|node| node.has_tag_name((SVG, "clipPath")));
    let largest_clip = largest_clip.map(|node| node.descendants().count()).max().unwrap_or_default();
    let cost = |node: Node<'_, '_>| {
        let used = target(node).and_then(|(_, id)| sizes.get(id)).copied().unwrap_or_default();
        let is_cut = node.attribute("clip-path").is_some()
            || node.attribute("style").is_some_and(|style| style.contains("clip-path"));
        used + if is_cut { largest_clip } else { 0 }
    };
    root.descendants().map(cost).sum()
}

/// Writes an allowed element and its allowed content.
fn write(node: Node<'_, '_>, usable: &HashSet<&str>, out: &mut String) {
    let name = node.tag_name().name();
    out.push_str(&format!("<{name}"));
    if node.parent_element().is_none() {
        out.push_str(&format!(" xmlns=\"{SVG}\""));
    }
    for (name, value) in attributes(node, usable) {
        out.push_str(&format!(" {name}=\"{}\"", escape(value)));
    }
    out.push('>');
    for child in node.children() {
        if let Some(text) = child.text().filter(|_| child.is_text()) {
            out.push_str(&escape(text));
        } else if is_kept(child) {
            write(child, usable, out);
        }
    }
    out.push_str(&format!("</{name}>"));
}

/// Returns an element's reference to another part of the drawing, both as written (`#a`) and as an id.
fn target<'a>(node: Node<'a, '_>) -> Option<(&'a str, &'a str)> {
    let address = node.attribute("href").or_else(|| node.attribute((XLINK, "href")))?;
    Some((address, address.strip_prefix('#')?))
}

/// Returns the allowed attributes of an element. Style declarations become attributes.
fn attributes<'a>(node: Node<'a, '_>, usable: &HashSet<&str>) -> BTreeMap<&'a str, &'a str> {
    // Nested clip paths would multiply the elements drawn at each level.
    let in_clip = node.ancestors().any(|it| it.has_tag_name((SVG, "clipPath")));
    let is_allowed = |(name, value): &(&str, &str)| {
        ATTRIBUTES.iter().any(|names| names.split(' ').any(|it| it == *name))
            && is_harmless(value)
            && !(in_clip && *name == "clip-path")
    };
    let plain = node.attributes().filter(|attribute| attribute.namespace().is_none());
    let mut kept: BTreeMap<&str, &str> = plain.map(|it| (it.name(), it.value())).filter(is_allowed).collect();
    let style = node.attribute("style").unwrap_or_default();
    let declared = style.split(';').filter_map(|declaration| declaration.split_once(':'));
    let declared = declared.map(|(name, value)| (name.trim(), value.trim()));
    kept.extend(declared.filter(|(name, _)| !["id", "d", "points"].contains(name)).filter(is_allowed));
    let used = target(node).filter(|(_, id)| node.has_tag_name((SVG, "use")) && usable.contains(id));
    kept.extend(used.map(|(address, _)| ("href", address)));
    kept
}

/// Returns true if a value has no references to anything outside the drawing.
fn is_harmless(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let refers = lower.matches("url").count();
    let within =
        lower.matches("url(#").count() + lower.matches("url(\"#").count() + lower.matches("url('#").count();
    refers == within
        && !lower.contains(['\\', '@', '<', '&'])
        && !lower.contains("/*")
        && !lower.contains("script")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_keeps_its_shapes() {
        let text = r##"<?xml version="1.0"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9" width="9pt">
<defs><path id="m0" d="M 0 0 h 1" stroke="red" style="stroke: #1f77b4; stroke-width: 0.8"/><clipPath id="c"><rect width="9" height="9"/></clipPath></defs>
<g clip-path="url(#c)"><use xlink:href="#m0" x="1" style="fill: url(#g)"/></g><text x="1">a &lt; b</text></svg>"##;
        let clean = sanitized(text).unwrap();
        insta::assert_snapshot!(clean, @r##"
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" width="9pt">
        <defs><path d="M 0 0 h 1" id="m0" stroke="#1f77b4" stroke-width="0.8"></path><clipPath id="c"><rect height="9" width="9"></rect></clipPath></defs>
        <g clip-path="url(#c)"><use fill="url(#g)" href="#m0" x="1"></use></g><text x="1">a &lt; b</text></svg>
        "##);
        // A clean drawing is unchanged.
        assert_eq!(sanitized(&clean), Some(clean));
    }

    #[test]
    fn nothing_runs_and_nothing_is_loaded() {
        let within = [
            "<script>alert(1)</script>",
            "<x:script xmlns:x='http://www.w3.org/2000/svg'>alert(1)</x:script>",
            "<image href='https://x.example/a.png'/>",
            "<image href='data:image/svg+xml,x'/>",
            "<foreignObject><iframe xmlns='http://www.w3.org/1999/xhtml' src='https://x.example'/></foreignObject>",
            "<style>@import url(https://x.example/a.css);</style>",
            "<a href='javascript:alert(1)'><rect width='1'/></a>",
            "<rect onclick='alert(1)' onload='alert(1)'/>",
            "<rect fill='url(https://x.example/a.svg#b)'/>",
            "<rect style='fill: url(https://x.example/a.svg#b)'/>",
            "<rect style='fill: u\\72l(https://x.example)'/>",
            "<rect style='behavior: url(#default#time2)'/>",
            "<use href='https://x.example/a.svg#b'/>",
            "<use href='data:image/svg+xml,x#b'/>",
            "<animate attributeName='href' values='javascript:alert(1)'/>",
            "<set attributeName='onload' to='alert(1)'/>",
            "<handler type='application/ecmascript'>alert(1)</handler>",
            "<filter id='f'><feImage href='https://x.example'/></filter>",
            "<html:img xmlns:html='http://www.w3.org/1999/xhtml' src='x' onerror='alert(1)'/>",
            "<text font-family='x;}&lt;/style>&lt;script>'>&#60;script&#62;alert(1)&#60;/script&#62;</text>",
        ];
        for part in within {
            let text = format!("<svg xmlns='{SVG}' onload='alert(1)' width='9' height='9'>{part}</svg>");
            let clean = sanitized(&text).unwrap();
            let document = Document::parse(&clean).unwrap();
            for node in document.descendants().filter(Node::is_element) {
                assert!(is_kept(node), "{clean}");
                for attribute in node.attributes() {
                    assert!(!attribute.name().starts_with("on"), "{clean}");
                    assert!(
                        !attribute.value().contains("example") && !attribute.value().contains("script"),
                        "{clean}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_drawing_that_takes_for_ever_is_none() {
        let of = |text: &str| sanitized(&format!("<svg xmlns='{SVG}'>{text}</svg>"));
        // Each level is drawn ten times as often as the one before.
        let level =
            |at: usize| format!("<g id='l{}'>{}</g>", at + 1, format!("<use href='#l{at}'/>").repeat(10));
        let levels: String = (0..10).map(level).collect();
        let clean = of(&format!("<rect id='l0'/>{levels}<use href='#l10'/>")).unwrap();
        assert_eq!(clean.matches("href").count(), 10, "only the first level uses what uses nothing");
        let circles = "<circle r='1'/>".repeat(400);
        assert_eq!(of(&format!("<g id='a'>{circles}</g>{}", "<use href='#a'/>".repeat(200))), None);
        let clip = format!("<clipPath id='c'>{circles}</clipPath>");
        assert_eq!(of(&format!("{clip}{}", "<g clip-path='url(#c)'/>".repeat(200))), None);
        assert_eq!(of(&format!("{clip}{}", "<g style='clip-path:url(#c)'/>".repeat(200))), None);
        let attributes: String = (0..=ATTRIBUTES_MAX).map(|at| format!(" a{at}='1'")).collect();
        assert_eq!(of(&format!("<g{attributes}/>")), None);
        assert_eq!(of(&"x".repeat(BYTES_MAX)), None);
        assert_eq!(of(&format!("{}{}", "<g>".repeat(DEPTH_MAX + 1), "</g>".repeat(DEPTH_MAX + 1))), None);
        assert_eq!(of(&"<g/>".repeat(NODES_MAX as usize)), None);
        for text in
            ["", "no drawing", "<svg/>", "<html xmlns='http://www.w3.org/1999/xhtml'/>", "<svg xmlns='x'>"]
        {
            assert_eq!(sanitized(text), None, "{text}");
        }
        let bomb = "<!DOCTYPE svg [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;'>\
                    <!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;'><!ENTITY d '&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;'>\
                    <!ENTITY e '&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;'><!ENTITY f '&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;'>]>";
        assert_eq!(sanitized(&format!("{bomb}<svg xmlns='{SVG}'><text>&f;</text></svg>")), None);
        let flat = format!("<!DOCTYPE svg [<!Entity a '{}'>]>", "x".repeat(50_000));
        assert_eq!(sanitized(&format!("{flat}<svg xmlns='{SVG}'>{}</svg>", "&a;".repeat(2_000))), None);
    }
}
