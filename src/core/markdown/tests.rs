//! Cases for and against each reference rule, and hostile text for pages.
//!
//! No test measures time. Inputs are large enough to make a quadratic algorithm hang.

use proptest::prelude::*;

use super::{
    HtmlOptions, Mention, MentionKind, Parsed, excerpt, own_path, plain_text, question, references,
    sanitize::{ALLOWED, is_allowed, sanitize},
    text::file_lines,
};

// ---- references -------------------------------------------------------------------------------------------

/// Formats each mention as `target`, followed by `:line` and ` | title` if present.
fn cited(markdown: &str) -> Vec<String> {
    let show = |mention: Mention| {
        let line = mention.line.map(|line| format!(":{line}")).unwrap_or_default();
        let title = mention.title.map(|title| format!(" | {title}")).unwrap_or_default();
        format!("{}{line}{title}", mention.target)
    };
    references(markdown).into_iter().map(show).collect()
}

/// Returns the sources cited by a single item in a References section.
fn item(text: &str) -> Vec<String> {
    cited(&format!("Found.\n\n## References\n\n- {text}\n"))
}

#[test]
fn urls_anywhere_in_text() {
    assert_eq!(cited("See https://a.example/x for it."), ["https://a.example/x"]);
    assert_eq!(cited("<https://a.example/x>"), ["https://a.example/x"]);
    assert_eq!(
        cited("> q https://a.example/q\n\n| a |\n|-|\n| http://b.example/t |"),
        ["https://a.example/q", "http://b.example/t"]
    );
    assert_eq!(cited("HTTPS://A.example/x"), ["HTTPS://A.example/x"]);
    assert_eq!(
        cited("https://a.example:8080 and http://localhost:3000/x"),
        ["https://a.example:8080", "http://localhost:3000/x"]
    );
    assert!(
        cited("ftp://a.example/x mailto:a@b.example javascript:alert(1) //a.example www.a.example")
            .is_empty()
    );
    assert!(cited("https:// http:/a.example http:a.example https:///x").is_empty());
}

#[test]
fn trailing_punctuation_and_brackets_are_not_part() {
    for (text, url) in [
        ("https://a.example/x.", "https://a.example/x"),
        ("https://a.example/x, y", "https://a.example/x"),
        ("(https://a.example/x)", "https://a.example/x"),
        ("(see https://a.example/x).", "https://a.example/x"),
        ("https://a.example/x_(y)", "https://a.example/x_(y)"),
        ("(https://a.example/x_(y))", "https://a.example/x_(y)"),
        ("[https://a.example/x]", "https://a.example/x"),
        ("\"https://a.example/x\"", "https://a.example/x"),
        ("'https://a.example/x'", "https://a.example/x"),
        ("https://a.example/x?y=1&z=2#f!", "https://a.example/x?y=1&z=2#f"),
        ("https://a.example/x?", "https://a.example/x"),
        ("https://a.example/x…", "https://a.example/x"),
        ("见 https://a.example/x。然后", "https://a.example/x"),
        ("**https://a.example/x**", "https://a.example/x"),
        ("*https://a.example/x*.", "https://a.example/x"),
        ("~~https://a.example/x~~", "https://a.example/x"),
        ("https://a.example/x\u{200B}y", "https://a.example/x"),
    ] {
        assert_eq!(cited(text), [url], "{text}");
    }
}

#[test]
fn text_that_the_parser_splits_is_one_url() {
    for url in [
        "https://a.example/b_c_d",
        "https://a.example/_b_/c",
        "https://a.example/__b__/c",
        "https://a.example/~b/~c",
        "https://a.example/a[0]b",
        "https://a.example/?a=*b",
        "https://a.example/?a=*b*c",
        "https://a.example/?a[]=b",
    ] {
        assert_eq!(cited(&format!("See {url} here")), [url]);
        assert!(to_html(url, &OPTIONS).contains(&format!(">{url}</a>")), "{}", to_html(url, &OPTIONS));
    }
    assert_eq!(cited("https://a.example/?a=1&amp;b=2"), ["https://a.example/?a=1&b=2"]);
    assert_eq!(cited("https://a.example/x *b* c"), ["https://a.example/x"]);
}

#[test]
fn titles_of_links() {
    assert_eq!(cited("[The **docs**](https://a.example/x)"), ["https://a.example/x | The docs"]);
    assert_eq!(cited("[docs](https://a.example/x \"The title\")"), ["https://a.example/x | The title"]);
    assert_eq!(cited("[https://a.example/x](https://a.example/x)"), ["https://a.example/x"]);
    assert_eq!(cited("[a][b]\n\n[b]: https://a.example/x"), ["https://a.example/x | a"]);
    assert_eq!(cited("![alt](https://a.example/x.png)"), ["https://a.example/x.png | alt"]);
    assert_eq!(
        cited("[![alt](https://a.example/i.png)](https://a.example/x)"),
        ["https://a.example/x | alt", "https://a.example/i.png | alt"]
    );
    assert_eq!(cited("Text.\n\n[1]: https://a.example/x 'Title'"), ["https://a.example/x | Title"]);
    assert!(cited("[a](docs/x.md) ![b](y.png) [c](#d) [e](javascript:x)").is_empty());
}

#[test]
fn code_blocks_and_raw_html_never_count_inline_code_does() {
    assert!(cited("```\nhttps://a.example/x\n```\n\n    https://a.example/y\n").is_empty());
    assert!(cited("## References\n\n```\n- a/b.rs\n```\n\n- x\n\n      - c/d.rs\n").is_empty());
    assert!(cited("<a href=\"https://a.example/x\">\n\n<!-- https://a.example/y -->\n").is_empty());
    assert!(cited("x <a href=\"https://a.example/x\">y</a>").is_empty());
    assert_eq!(cited("`https://a.example/x`"), ["https://a.example/x"]);
    assert_eq!(cited("`curl -L https://a.example/x`"), ["https://a.example/x"]);
    assert!(cited("`src/a.rs`").is_empty());
}

#[test]
fn paths_only_in_a_references_section() {
    assert_eq!(cited("- notes/raw.md\n\n## References\n\n- docs/keep.md"), ["docs/keep.md"]);
    assert!(cited("## Sources\n\n- docs/x.md\n\n**References**\n\n- docs/y.md").is_empty());
    for heading in [
        "# References",
        "###### references",
        "## REFERENCE:",
        "References\n---",
        "Reference\n=====",
        "## **References** ##",
    ] {
        assert_eq!(cited(&format!("Text\n\n{heading}\n- a/b.rs")), ["a/b.rs"], "{heading}");
    }
    assert_eq!(cited("Text right above\n## References\n- a/b.rs"), ["a/b.rs"]);
    assert_eq!(cited("Text right above\nReferences\n----------\n- a/b.rs"), ["a/b.rs"]);
    assert_eq!(cited("> ## References\n> - a/b.rs\n\n- c/d.rs"), ["a/b.rs"]);
    assert_eq!(cited("## References\r\n\r\n- a/b.rs\r\n"), ["a/b.rs"]);
    assert!(cited("## References and more\n- a/b.rs").is_empty());
    assert!(cited("## References\n\nsrc/a.rs is prose, not a list item.").is_empty());
}

#[test]
fn the_section_ends_with_the_next_heading_of_its_level() {
    let text = "## References\n- a/1.rs\n### Code\n- a/2.rs\n## Next\n- a/3.rs\n# Reference\n1. a/4.rs";
    assert_eq!(cited(text), ["a/1.rs", "a/2.rs", "a/4.rs"]);
    assert_eq!(cited("### References\n- a/1.rs\n\nTop\n===\n- a/2.rs"), ["a/1.rs"]);
}

#[test]
fn paths_of_list_items() {
    for (text, found) in [
        ("src/a.rs", "src/a.rs"),
        ("`src/a.rs`", "src/a.rs"),
        ("**src/a.rs**", "src/a.rs"),
        ("_src/a.rs_", "src/a.rs"),
        ("src/a.rs:42", "src/a.rs:42"),
        ("`src/a.rs:42-50`", "src/a.rs:42"),
        ("`src/a.rs`:42", "src/a.rs:42"),
        ("src/a.rs:42:7", "src/a.rs:42"),
        ("src/a.rs#L42", "src/a.rs:42"),
        ("src/a.rs#L42-L50", "src/a.rs:42"),
        ("src/a.rs - the parser", "src/a.rs | the parser"),
        ("`src/a.rs:7` – the *parser*", "src/a.rs:7 | the parser"),
        ("src/a.rs — the parser - really", "src/a.rs | the parser - really"),
        ("src/a.rs: the parser", "src/a.rs | the parser"),
        ("src/a.rs:3: the parser", "src/a.rs:3 | the parser"),
        ("**`src/a.rs`**: the parser", "src/a.rs | the parser"),
        ("src/a.rs - first\n  second", "src/a.rs | first second"),
        ("`a.rs` contains the parser", "a.rs"),
        ("`src/a.rs` (the parser) - x", "src/a.rs | x"),
        ("./x", "./x"),
        ("/etc/hosts", "/etc/hosts"),
        ("~/notes.txt", "~/notes.txt"),
        ("README.md", "README.md"),
        ("Makefile", "Makefile"),
        (".gitignore", ".gitignore"),
        ("a\\b.rs", "a\\b.rs"),
        ("C:\\src\\b.rs:12 - x", "C:\\src\\b.rs:12 | x"),
        ("src/__init__.py", "src/__init__.py"),
        ("__init__.py - x", "__init__.py | x"),
        ("src/a_b_c.rs", "src/a_b_c.rs"),
        ("app/[id]/page.tsx", "app/[id]/page.tsx"),
        ("src/markdown/", "src/markdown/"),
        ("bin/tot", "bin/tot"),
        ("[x] src/a.rs", "src/a.rs"),
        ("[the parser](src/a.rs#L3)", "src/a.rs:3 | the parser"),
        ("[src/a.rs](src/a.rs) - x", "src/a.rs | x"),
        ("See `src/a.rs:4` for it", "src/a.rs:4"),
        ("The parser (src/a.rs:4), and so on", "src/a.rs:4"),
        ("src/日本.rs", "src/日本.rs"),
    ] {
        assert_eq!(item(text), [found], "{text}");
    }
    assert_eq!(
        item("src/a.rs, `src/b.rs` and c.rs - all"),
        ["src/a.rs | all", "src/b.rs | all", "c.rs | all"]
    );
    assert_eq!(item("src/a.rs - x\n  - src/b.rs - y"), ["src/a.rs | x", "src/b.rs | y"]);
}

#[test]
fn paths_of_named_repositories() {
    for (text, found) in [
        ("tot@0a1b2c3:src/a.rs:18", "tot@0a1b2c3:src/a.rs:18"),
        ("tot@0a1b2c3:src/a.rs:18-24 - the parser", "tot@0a1b2c3:src/a.rs:18 | the parser"),
        ("`owner/name@0a1b2c3d4e5f:src/a.rs#L18-L24`", "owner/name@0a1b2c3d4e5f:src/a.rs:18"),
        ("tot@0a1b2c3:src/__init__.py", "tot@0a1b2c3:src/__init__.py"),
        ("owner/name src/a.rs:18", "owner/name src/a.rs:18"),
        ("owner/name  src/a.rs:18-24: the parser", "owner/name src/a.rs:18 | the parser"),
        ("`owner/name src/a.rs:18` – the parser", "owner/name src/a.rs:18 | the parser"),
        ("owner/name `src/a.rs:18`", "owner/name src/a.rs:18"),
        ("owner/name@0a1b2c3 src/a.rs:18", "owner/name@0a1b2c3 src/a.rs:18"),
        ("In tot@0a1b2c3:src/a.rs:18, the parser", "tot@0a1b2c3:src/a.rs:18"),
    ] {
        assert_eq!(item(text), [found], "{text}");
    }
    assert_eq!(item("src/a src/b.rs"), ["src/a", "src/b.rs"], "two paths");
    assert_eq!(item("src/a.rs src/b.rs:3"), ["src/a.rs", "src/b.rs:3"], "two paths");
    for text in ["git@host.example:owner/name.git", "tot@main:src/a.rs:18", "a@0a1b2c3:", "@0a1b2c3:a b"] {
        assert!(item(text).is_empty(), "{text}: {:?}", item(text));
    }
}

#[test]
fn lines_of_references_that_name_no_source_are_known() {
    let unreadable = |text: &str| -> Vec<String> {
        let shown = Parsed::new(text)
            .unreadable_references()
            .into_iter()
            .map(|it| format!("{}: {}", it.line, it.text));
        shown.collect()
    };
    let listed = |text: &str| unreadable(&format!("Found.\n\n## References\n\n{text}\n"));
    assert_eq!(
        listed("- the team's wiki\n- src/a.rs:3 - x\n- RFC 7231,\n  section 3"),
        ["5: the team's wiki", "7: RFC 7231, section 3"]
    );
    assert_eq!(
        listed("- a talk\n  - by them\n- Code:\n  - src/a.rs\n- b/c.rs\n  - which is old"),
        ["5: a talk"]
    );
    assert_eq!(listed("src/a.rs:3 - x\nsrc/b.rs:4 - y\n\n- c/d.rs"), ["5: src/a.rs:3 - x src/b.rs:4 - y"]);
    assert_eq!(listed("| where |\n|-|\n| src/a.rs:3 |"), ["7: src/a.rs:3"]);
    assert_eq!(unreadable("Text.\n\n> ## References\n> - the wiki\n\n- no source"), ["4: the wiki"]);
    for text in [
        "- None",
        "- n/a.",
        "- –",
        "None.",
        "All of the 20th of November:\n\n- src/a.rs",
        "- https://a.example/x",
        "- see <https://a.example/x> for it",
        "- [ ] src/a.rs",
        "```\nsrc/a.rs\n```",
        "### src/a.rs\n- src/a.rs:3",
        "## Next\n\n- the wiki\n\nsrc/a.rs:3",
    ] {
        assert_eq!(listed(text), [""; 0], "{text}");
    }
    assert_eq!(unreadable("- the wiki\n\nsrc/a.rs:3"), [""; 0], "outside of the section");
    let long = listed(&format!("- {}", "word ".repeat(100)));
    assert!(long[0].chars().count() < 100, "{long:?}");
}

#[test]
fn prose_is_no_path() {
    for text in [
        "None",
        "N/A",
        "TCP/IP - the protocol",
        "The team said so",
        "Version 1.2 of it",
        "1.5.3",
        "an e-mail of me@a.example",
        "a.com",
        "`cargo test src/a.rs`",
        "`std::fs::read`",
        "The `self.items` field",
        "RFC 7231, section 3",
        "10.1000/182",
        "owner/repo#12",
        "either/or",
        "...",
        "/",
        "-",
    ] {
        assert!(item(text).is_empty() || text == "either/or", "{text}: {:?}", item(text));
    }
}

#[test]
fn urls_of_list_items_take_the_description() {
    assert_eq!(item("https://a.example/x - the list"), ["https://a.example/x | the list"]);
    assert_eq!(item("<https://a.example/x> – the list"), ["https://a.example/x | the list"]);
    assert_eq!(item("[List](https://a.example/x) - the list"), ["https://a.example/x | List"]);
    assert_eq!(item("`https://a.example/x` - the list"), ["https://a.example/x | the list"]);
    assert_eq!(
        item("src/a.rs - as https://a.example/x says"),
        ["src/a.rs | as https://a.example/x says", "https://a.example/x"]
    );
    assert_eq!(cited("- https://a.example/x - the list"), ["https://a.example/x"]);
}

#[test]
fn order_and_deduplication() {
    let text = "https://b.example then [A](https://a.example/) and https://b.example\n\n[B](https://b.example)\n\n\
                ## References\n- x/y.rs\n- x/y.rs - why\n- x/y.rs:1\n- [A2](https://a.example/)";
    assert_eq!(cited(text), ["https://b.example | B", "https://a.example/ | A", "x/y.rs | why", "x/y.rs:1"]);
    assert_eq!(references("https://a.example/x")[0].kind, MentionKind::Url);
    assert_eq!(references("# References\n- a/b")[0].kind, MentionKind::Path);
}

#[test]
fn hidden_characters_are_in_no_reference() {
    assert_eq!(item("src/a.rs - x\u{202E}y"), ["src/a.rs | x\u{FFFD}y"]);
    assert!(item("`src/\u{202E}a.rs`").is_empty());
    assert!(cited("[x](https://a.example/&#x202E;x)").is_empty());
}

// ---- to_html ----------------------------------------------------------------------------------------------

const OPTIONS: HtmlOptions<'_> = HtmlOptions { prefix: "R1.A", heading_level: 3 };

fn to_html(markdown: &str, options: &HtmlOptions<'_>) -> String {
    Parsed::new(markdown).to_html(options)
}

/// A start tag as serialized: name and attributes.
type Start = (String, Vec<(String, String)>);

/// Checks a fragment strictly: balanced, only allowed elements and attributes, only harmless addresses, no id without
/// the prefix, and a target for every link inside the fragment.
fn check(html: &str) -> Result<Vec<Start>, String> {
    let mut starts: Vec<Start> = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find(['<', '>']) {
        let tag = rest[at..].strip_prefix('<').ok_or("a bare >")?;
        if let Some(name) = tag.strip_prefix('/') {
            let (name, after) = name.split_once('>').ok_or("an open end tag")?;
            if open.pop().as_deref() != Some(name) {
                return Err(format!("</{name}> closes another"));
            }
            rest = after;
            continue;
        }
        let (start, after) = read_start(tag)
            .ok_or_else(|| format!("unreadable: <{}", tag.chars().take(60).collect::<String>()))?;
        check_start(&start)?;
        if start.0 == "a" && open.iter().any(|name| name == "a") {
            return Err("a link in a link".into());
        }
        if !matches!(&*start.0, "br" | "hr" | "input") {
            open.push(start.0.clone());
        }
        starts.push(start);
        rest = after;
    }
    if !open.is_empty() {
        return Err(format!("left open: {open:?}"));
    }
    if let Some(c) = html.chars().find(|c| crate::text::is_hidden(*c)) {
        return Err(format!("hidden character {c:?}"));
    }
    let values = |name: &str| -> Vec<&String> {
        starts
            .iter()
            .flat_map(|(_, attributes)| attributes)
            .filter(|(key, _)| key == name)
            .map(|(_, value)| value)
            .collect()
    };
    let ids: std::collections::HashSet<_> = values("id").into_iter().collect();
    if ids.len() != values("id").len() {
        return Err("an id twice".into());
    }
    match values("href")
        .iter()
        .filter_map(|href| href.strip_prefix('#'))
        // The caller replaces these addresses.
        .filter(|href| !["node:R", "file:", "source:"].iter().any(|start| href.starts_with(start)))
        .find(|href| !ids.contains(&(*href).to_owned()))
    {
        Some(href) => Err(format!("#{href} leads nowhere")),
        None => Ok(starts),
    }
}

fn read_start(tag: &str) -> Option<(Start, &str)> {
    let name_end = tag.find([' ', '>'])?;
    let mut attributes = Vec::new();
    let mut rest = &tag[name_end..];
    while let Some(attribute) = rest.strip_prefix(' ') {
        let (name, value) = attribute.split_once("=\"")?;
        let (value, after) = value.split_once('"')?;
        let value =
            value.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
        attributes.push((name.to_owned(), value));
        rest = after;
    }
    Some(((tag[..name_end].to_owned(), attributes), rest.strip_prefix('>')?))
}

fn check_start((name, attributes): &Start) -> Result<(), String> {
    let (_, allowed) = ALLOWED.iter().find(|(tag, _)| tag == name).ok_or_else(|| format!("<{name}>"))?;
    for (key, value) in attributes {
        if !allowed.contains(&key.as_str()) || key.starts_with("on") || !is_allowed(name, key, value) {
            return Err(format!("<{name} {key}={value:?}>"));
        }
        let lower = value.to_lowercase();
        let safe = match key.as_str() {
            "href" if value.starts_with('#') => {
                ["#R1.A-", "#node:R", "#file:", "#source:"].iter().any(|start| value.starts_with(start))
            }
            "href" => ["http://", "https://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme)),
            "id" => value.starts_with("R1.A-"),
            _ => true,
        };
        if !safe {
            return Err(format!("<{name} {key}={value:?}>"));
        }
    }
    Ok(())
}

fn safe(markdown: &str) -> String {
    let html = to_html(markdown, &OPTIONS);
    if let Err(reason) = check(&html) {
        let short = |text: &str| text.chars().take(2000).collect::<String>();
        panic!("{reason}\n--- from\n{}\n--- came\n{}", short(markdown), short(&html));
    }
    html
}

fn links(markdown: &str) -> Vec<String> {
    safe(markdown);
    let starts = check(&to_html(markdown, &OPTIONS)).unwrap();
    let attributes = starts.into_iter().flat_map(|(_, attributes)| attributes);
    attributes.filter(|(name, _)| name == "href").map(|(_, value)| value).collect()
}

#[test]
fn the_checker_sees_what_it_should() {
    for bad in [
        "<script></script>",
        "<p onclick=\"x\"></p>",
        "<p style=\"x\"></p>",
        "<a href=\"javascript:x\"></a>",
        "<a href=\"//x\"></a>",
        "<p>",
        "</p>",
        "<em><strong></em></strong>",
        "<p id=\"x\"></p>",
        "<h3 id=\"other-h-x\"></h3>",
        "<img src=\"x\">",
        "<p class=\"mine\"></p>",
        "<a href=\"#R1.A-fn-1\"></a>",
        "a\u{202E}b",
    ] {
        assert!(check(bad).is_err(), "{bad}");
    }
}

#[test]
fn an_empty_cell_in_a_tables_head_is_no_header() {
    let html = safe("| | b |\n|---|---|\n| x | y |");
    assert!(html.contains("<td></td>") && html.contains("<th scope=\"col\">b</th>"), "{html}");
}

#[test]
fn the_second_fence_holds_alone() {
    for bad in [
        "<script>x</script>",
        "<img src=x onerror=x>",
        "<p style='x' onclick='x' id='x' class='x'>t",
        "<a href='//host' class='x' id='y'>t</a>",
        "<a href='java&#9;script:x'>t</a>",
        "<svg><a xlink:href='javascript:x'>t</a></svg>",
        "<math><mtext><style><img src onerror=x></style></mtext></math>",
        "<code class='language-<x>'>t</code>",
        "<input type=text onfocus=x autofocus>",
        "<iframe srcdoc=x></iframe><style>*{}</style><form action=x><base href=x><meta http-equiv=refresh>",
    ] {
        let html = sanitize(bad);
        assert!(check(&html).is_ok(), "{bad}: {html}: {:?}", check(&html));
    }
}

#[test]
fn hostile_texts_are_harmless() {
    let payloads = [
        "<script>alert(1)</script>",
        "x <script>alert(1)</script> y",
        "<SCRIPT SRC=//h.example/x.js></SCRIPT>",
        "<scr<script>ipt>alert(1)</scr</script>ipt>",
        "<img src=x onerror=alert(1)>",
        "x <img src=\"https://h.example/t.gif\"> y",
        "<p onclick=\"alert(1)\" style=\"position:fixed\">x</p>",
        "<svg onload=alert(1)><animate onbegin=alert(1)></svg>",
        "<svg><style><!--</style><img src=x onerror=alert(1)>--></svg>",
        "<math><mi xlink:href=\"javascript:alert(1)\">x</mi></math>",
        "<iframe src=\"https://h.example\"></iframe>",
        "<iframe srcdoc=\"<script>alert(1)</script>\">",
        "<style>*{background:url(//h.example)}</style>",
        "<meta http-equiv=refresh content=\"0;url=//h.example\">",
        "<base href=\"//h.example/\">",
        "<link rel=stylesheet href=//h.example/x.css>",
        "<form action=//h.example><input name=x><button>Go</button></form>",
        "<object data=x></object><embed src=x><video src=x autoplay></video>",
        "<template><script>alert(1)</script></template>",
        "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
        "<!-- comment --> <!--> <img src=x onerror=alert(1)> -->",
        "<![CDATA[<script>alert(1)</script>]]>",
        "<?php echo 1 ?> <!DOCTYPE html>",
        "</div></section></body></html><script>alert(1)</script>",
        "</p></article> text </code></pre>",
        "<div><p><b>never closed",
        "<a href=\"x\" <b> <c",
        "<details open ontoggle=alert(1)>",
        "<textarea></p><script>alert(1)</script>",
        "<plaintext><xmp><title><noembed>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](javascript&colon;alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](&#x6A&#x61vascript:alert(1))",
        "[x](java&Tab;script:alert(1))",
        "[x](java&NewLine;script:alert(1))",
        "[x](<java\tscript:alert(1)>)",
        "[x](<  javascript:alert(1)>)",
        "[x](&#1;javascript:alert(1))",
        "[x](\u{1}javascript:alert(1))",
        "[x](javascript\\:alert(1))",
        "[x](javascript%3Aalert(1))",
        "[x](jav\u{200B}ascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](DATA:text/html,<script>alert(1)</script>)",
        "[x](vbscript:msgbox(1))",
        "[x](file:///etc/passwd)",
        "[x](blob:https://h.example/x) [y](view-source:https://h.example) [z](ftp://h.example)",
        "[x](//h.example/x)",
        "[x](/\\h.example/x)",
        "[x](\\\\\\\\h.example/x)",
        "[x](\\/\\/h.example)",
        "[x](http:/\\h.example) [y](http:\\\\h.example) [z](https:h.example) [w](https:///h.example)",
        "[x](https://good.example\\@h.example)",
        "[x](https://good.example@h.example/)",
        "[x](https://a.example/\"onmouseover=alert(1)//)",
        "[x](https://a.example/ '\" onmouseover=\"alert(1)')",
        "[x](<https://a.example/\"><script>alert(1)</script>>)",
        "[x][y]\n\n[y]: javascript:alert(1)",
        "[x]: javascript:alert(1) \"t\"\n\n[x] [x][] ![x]",
        "<javascript:alert(1)>",
        "<data:text/html,x> <vbscript:x>",
        "<https://a.example/\"onclick=x>",
        "<me@a.example?body=x> <\"onclick=x@a.example>",
        "[a [b](https://b.example) c](https://c.example)",
        "[![x](https://a.example/i.png)](https://b.example)",
        "![a [b](https://b.example) `c` **d** https://e.example [^1]](https://c.example)\n\n[^1]: x",
        "![x](https://a.example/t.gif)",
        "![\"onerror=\"alert(1)](x)",
        "![x](javascript:alert(1) \"y\")",
        "![x](data:image/svg+xml,<svg onload=alert(1)>)",
        "![](https://a.example/t.gif) [](https://b.example)",
        "[^\"><script>]: x\n\n[^\"><script>]",
        "[^x]\n\n[^x]: [^x] [^x]",
        "[^a] [^A]\n\n[^a]: one\n\n[^a]: two\n\n[^b]: nobody",
        "[y [^1](https://a.example)](https://b.example)\n\n[^1]: x",
        "[[^1]](https://a.example) only in a link\n\n[^1]: x",
        "> [^1]: in a quote\n\n- [^2]: in a list\n\n[^1] [^2]",
        "[x](#R1.A-fn-1) [y](#fn-1) [z](#main) [w](#) [v](#x\"onclick=y)",
        "# x {#evil .evil onclick=alert(1)}",
        "# <script>alert(1)</script>\n\n[x](#scriptalert1script)",
        "# a\n# a\n# a-1\n# a\n\n[x](#a) [x](#a-2)",
        "```\"><script>alert(1)</script>\nx\n```",
        "```js onload=alert(1) {.evil}\n</code></pre><script>alert(1)</script>\n```",
        "~~~<img src=x>\nx\n~~~",
        "`</code><script>alert(1)</script>`",
        "{{ 7*7 }} {% include \"/etc/passwd\" %} {# x #} ${x} <%= x %>",
        "a\u{0}b\u{1}c\u{7F}d\u{85}e\u{1B}[31m &#0; &#1; &#x1F; &#x85;",
        "a\u{202E}b\u{2066}c\u{200B}d\u{FEFF}e\u{2028}f\u{E0041}g &#x202E; &#x2066; &#8203;",
        "[\u{202E}moc.live](https://evil.example/\u{202E}x \"\u{202E}t\")",
        "`\u{202E}code`\n\n```\n\u{202E}code\n```\n\n<b \u{202E}>",
        "[x](https://xn--80ak6aa92e.com) [x](https://аррӏе.com)",
        "[x](https://a.example/%00%0a) [x](https://%) [x](https://[::1]/) [x](https://[)",
        "&lt;script&gt;alert(1)&lt;/script&gt; &amp;lt;script&amp;gt;",
        "\\<script>alert(1)\\</script>",
        "| <script> | b |\n|:-:|--:|\n| `|` <img src=x onerror=alert(1)> | [x](javascript:x) |",
        "| a |\n|---|\n| 1 | 2 | 3 |\n| |",
        "- [x] <script>\n- [ ] b\n\n* [X] c",
        "> [!NOTE]\n> <script>alert(1)</script>\n\n> [!CAUTION]\n\n> [!\"onclick]\n> x",
        "99999999999. x\n\n999999999. y\n\n0. z",
        "---\ntitle: <script>\n---\n\n+++\nx\n+++",
        "a<br/>b<br onclick=alert(1)>",
        "$$<script>$$ $x$ ^a^ ~b~ ==c== ||d|| :e: @f #1",
        "\r\r\n<script>\ralert(1)\r</script>",
        "",
        "\u{FEFF}",
        "   \n\t\n",
    ];
    assert!(payloads.len() >= 100);
    for payload in payloads {
        safe(payload);
        // The same applies in every kind of block.
        safe(&format!(
            "> - 1. {payload}\n\n| {payload} |\n|-|\n| {payload} |\n\n# {payload}\n\n[^f]: {payload}\n\n[^f]"
        ));
        references(payload);
        Parsed::new(payload).unreadable_references();
        excerpt(payload, 80);
    }
}

#[test]
fn bad_links_lose_their_address_and_keep_their_text() {
    for url in [
        "javascript:alert(1)",
        "java&Tab;script:x",
        "data:text/html,x",
        "//h.example",
        "/\\h.example",
        "#nowhere",
        "https://good.example@h.example/",
        "https://a.example\\@b.example",
        "https:h.example",
        "file:///x",
        "?x",
        "tel:1",
    ] {
        let html = safe(&format!("[text]({url})"));
        assert_eq!(html, "<p>text</p>\n", "{url}");
    }
    assert_eq!(links("[x](https://a.example/a%20b?c=d#e)"), ["https://a.example/a%20b?c=d#e"]);
    assert_eq!(
        links("<me@a.example> [x](mailto:me@a.example) [y](MAILTO:me@a.example)"),
        ["mailto:me@a.example"; 3]
    );
    assert_eq!(links("[x](https://аррӏе.com)"), ["https://xn--80ak6aa92e.com/"]);
    assert_eq!(links("HTTP://A.example"), ["http://a.example/"]);
    for source in ["src/parse.rs", "Makefile:12", "run:../../x", "node:\"&'", "how:", "tot://x"] {
        assert_eq!(links(&format!("[**x**](<{source}>)")), [format!("#source:{source}")]);
    }
}

#[test]
fn honest_text_looks_as_it_should() {
    let cases = [
        (
            "# One\n###### Six",
            "<h3 id=\"R1.A-h-one\">One<a class=\"anchor\" href=\"#R1.A-h-one\" aria-label=\"Link to this section\">#</a></h3>\n<h6 id=\"R1.A-h-six\">Six<a class=\"anchor\" href=\"#R1.A-h-six\" aria-label=\"Link to this section\">#</a></h6>\n",
        ),
        (
            "## A\n### B",
            "<h3 id=\"R1.A-h-a\">A<a class=\"anchor\" href=\"#R1.A-h-a\" aria-label=\"Link to this section\">#</a></h3>\n<h4 id=\"R1.A-h-b\">B<a class=\"anchor\" href=\"#R1.A-h-b\" aria-label=\"Link to this section\">#</a></h4>\n",
        ),
        (
            // A link may be percent-encoded, and its accent apart.
            "# A cafe\u{301}\n[x](#a-caf%C3%A9)",
            "<h3 id=\"R1.A-h-a-café\">A cafe\u{301}<a class=\"anchor\" href=\"#R1.A-h-a-café\" aria-label=\"Link to this section\">#</a></h3>\n<p><a href=\"#R1.A-h-a-café\">x</a></p>\n",
        ),
        ("`Vec<T>` or Vec<T>", "<p><code>Vec&lt;T&gt;</code> or Vec&lt;T&gt;</p>\n"),
        ("*a* **b** ~~c~~  \nd", "<p><em>a</em> <strong>b</strong> <del>c</del><br>\nd</p>\n"),
        (
            "```python\n-con.execute('BEGIN')\n+con.execute('BEGIN <IMMEDIATE>')\n\n done\n```",
            "<pre tabindex=\"0\"><code class=\"language-python\"><span class=\"line-removed\">-con.execute('BEGIN')\n</span>\
             <span class=\"line-added\">+con.execute('BEGIN &lt;IMMEDIATE&gt;')\n</span>\n done\n</code></pre>\n",
        ),
        (
            "See R2.A1, (R3.A1a) and R4.A1a1. Not nodes/R2/R2.A1.yaml, R2.A1.yaml, xR2.A1, R2.A1_b, R2., `R2.A1`",
            "<p>See <a class=\"node-ref\" href=\"#node:R2.A1\">R2.A1</a>, \
             (<a class=\"node-ref\" href=\"#node:R3.A1a\">R3.A1a</a>) and \
             <a class=\"node-ref\" href=\"#node:R4.A1a1\">R4.A1a1</a>. \
             Not nodes/R2/R2.A1.yaml, R2.A1.yaml, xR2.A1, R2.A1_b, R2., <a class=\"node-ref\" href=\"#node:R2.A1\"><code>R2.A1</code></a></p>\n",
        ),
        (
            "At src/a.rs:12, ./b/c.py:3-5; `d/e.go#L7-L9` and R2.A1.",
            "<p>At <a class=\"file-ref\" href=\"#file:12-12:src/a.rs\">src/a.rs:12</a>, \
             <a class=\"file-ref\" href=\"#file:3-5:b/c.py\">./b/c.py:3-5</a>; \
             <a class=\"file-ref\" href=\"#file:7-9:d/e.go\"><code>d/e.go#L7-L9</code></a> and \
             <a class=\"node-ref\" href=\"#node:R2.A1\">R2.A1</a>.</p>\n",
        ),
        (
            "[to R2.A1](https://a.example/R2.A1)",
            "<p><a href=\"https://a.example/R2.A1\" rel=\"noopener noreferrer nofollow ugc\">to R2.A1</a></p>\n",
        ),
        ("```\n- a\n- b\n```", "<pre tabindex=\"0\"><code>- a\n- b\n</code></pre>\n"),
        ("```\n- a\n+ b\nc\n```", "<pre tabindex=\"0\"><code>- a\n+ b\nc\n</code></pre>\n"),
        ("```rust\nlet a;\n```", "<pre tabindex=\"0\"><code class=\"language-rust\">let a;\n</code></pre>\n"),
        ("```a<b\nx\n```", "<pre tabindex=\"0\"><code>x\n</code></pre>\n"),
        (
            "<div>\nx\n</div>",
            "<pre class=\"raw-html\" tabindex=\"0\"><code>&lt;div&gt;\nx\n&lt;/div&gt;</code></pre>\n",
        ),
        ("1. a\n2. b", "<ol>\n<li>a</li>\n<li>b</li>\n</ol>\n"),
        ("3) a", "<ol start=\"3\">\n<li>a</li>\n</ol>\n"),
        ("---", "<hr>\n"),
        ("a\u{1}\u{202E}b", "<p>a\u{2401}\u{FFFD}b</p>\n"),
        (
            "https://a.example/x.",
            "<p><a href=\"https://a.example/x\" rel=\"noopener noreferrer nofollow ugc\">https://a.example/x</a>.</p>\n",
        ),
        (
            "![alt](https://a.example/x \"t\")",
            "<p><a class=\"image-link\" href=\"https://a.example/x\" rel=\"noopener noreferrer nofollow ugc\" title=\"t\">alt</a></p>\n",
        ),
        (
            "![alt](x.png)",
            "<p><span class=\"image-alt\">alt</span> <span class=\"link-target\">(x.png)</span></p>\n",
        ),
        (
            "- [x] a",
            "<ul>\n<li class=\"task-list-item\"><input type=\"checkbox\" disabled=\"\" checked=\"\" aria-label=\"Done\"> a</li>\n</ul>\n",
        ),
        (
            "> [!TIP]\n> a",
            "<div class=\"markdown-alert markdown-alert-tip\" role=\"note\">\n<p class=\"markdown-alert-title\">Tip</p>\n<p>a</p>\n</div>\n",
        ),
        (
            "|a|b|\n|-:|-|\n|1|2|",
            "<div class=\"table-scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">\n<table>\n<thead>\n\
             <tr><th scope=\"col\" class=\"align-right\">a</th>\n<th scope=\"col\">b</th>\n</tr>\n</thead>\n<tbody>\n\
             <tr><td class=\"align-right\">1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>\n</div>\n",
        ),
        (
            "||b|\n|-:|-|\n|1|2|",
            "<div class=\"table-scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">\n<table>\n<thead>\n\
             <tr><td class=\"align-right\"></td>\n<th scope=\"col\">b</th>\n</tr>\n</thead>\n<tbody>\n\
             <tr><td class=\"align-right\">1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>\n</div>\n",
        ),
        (
            "a[^n]\n\n[^n]: note",
            "<p>a<sup class=\"footnote-ref\"><a href=\"#R1.A-fn-1\" id=\"R1.A-fnref-1\" aria-label=\"Footnote 1\">1</a></sup></p>\n\
             <section class=\"footnotes\">\n<ol>\n<li id=\"R1.A-fn-1\"><p>note \
             <a class=\"footnote-backref\" href=\"#R1.A-fnref-1\" aria-label=\"Back to reference 1\">↩</a></p></li>\n</ol>\n</section>\n",
        ),
    ];
    for (markdown, html) in cases {
        assert_eq!(safe(markdown), html);
    }
}

#[test]
fn headings_keep_their_distance_below_the_highest() {
    let html = to_html("#### A\n\n###### B", &HtmlOptions { prefix: "a", heading_level: 2 });
    let [a, b] = ["<h2 id=\"a-h-a\">A", "<h4 id=\"a-h-b\">B"].map(|heading| html.find(heading));
    assert!(a.is_some() && a < b, "{html}");
}

#[test]
fn options_are_brought_into_bounds() {
    let html = |prefix, heading_level| to_html("# x", &HtmlOptions { prefix, heading_level });
    let heading = |level: u8, id: &str| {
        let anchor = format!("<a class=\"anchor\" href=\"#{id}\" aria-label=\"Link to this section\">#</a>");
        format!("<h{level} id=\"{id}\">x{anchor}</h{level}>\n")
    };
    assert_eq!(html("a", 0), heading(2, "a-h-x"));
    assert_eq!(html("a", 9), heading(6, "a-h-x"));
    assert_eq!(html("", 2), heading(2, "md-h-x"));
    assert_eq!(html("a\"> <script>", 2), heading(2, "a----script--h-x"));
}

#[test]
fn what_is_too_deep_or_too_much_is_shown_as_it_is_written() {
    let deep = safe(&format!("{}innermost", "> ".repeat(101)));
    assert!(deep.starts_with("<pre") && deep.contains("&gt; &gt; innermost"), "{deep}");
    assert_eq!(safe(&format!("{}innermost", "> ".repeat(90))).matches("<blockquote>").count(), 90);
    let many = safe(&"- word\n".repeat(50_000));
    assert!(many.starts_with("<pre"));
    assert_eq!(many.matches("- word").count(), 50_000);
}

/// Returns the names and content of the most expensive inputs, at full size or a fraction of it.
fn floods(share: usize) -> Vec<(&'static str, String)> {
    let r = |text: &str, times: usize| text.repeat((times / share).max(1));
    vec![
        ("quotes", r("> ", 100_000)),
        ("quotes, text", r("> ", 50_000) + "x"),
        ("quote lines", r("> > > > x\n", 20_000)),
        ("[", r("[", 100_000)),
        ("(", r("(", 100_000)),
        ("[]( ", r("[](", 50_000)),
        ("[a](", r("[a](", 50_000)),
        ("![", r("![", 100_000)),
        ("images in images", r("![", 5_000) + "x" + &r("](https://a.example/)", 5_000)),
        ("links in links", r("[", 5_000) + "x" + &r("](https://a.example/)", 5_000)),
        ("*", r("*", 100_000)),
        ("*a ", r("*a ", 50_000)),
        ("*a **a ", r("*a **a ", 30_000)),
        ("a**b c* ", r("a**b c* ", 30_000)),
        ("nested emphasis", r("*a **b ", 5_000) + &r("b** a*", 5_000)),
        ("_", r("_a", 100_000)),
        ("~", r("~a~ ~~b", 30_000)),
        ("`", (1..700 / share).map(|n| "`".repeat(n) + " ").collect()),
        ("<", r("<", 100_000)),
        ("<a", r("<a ", 50_000)),
        ("<!--", r("<!-- ", 30_000)),
        ("<![CDATA[", r("<![CDATA[ ", 30_000)),
        ("<?", r("<? ", 50_000)),
        ("&", r("&amp;", 50_000)),
        ("& bare", r("&", 100_000)),
        ("lists in one line", r("- ", 50_000) + "x"),
        ("numbered lists in one line", r("1. ", 30_000) + "x"),
        ("lists by indent", (0..1_500 / share).map(|n| "  ".repeat(n) + "- a\n").collect()),
        ("lists and quotes", r("> - ", 25_000) + "x"),
        ("list items", r("- a\n", 100_000)),
        ("empty items", r("-\n", 100_000)),
        ("loose items", r("- a\n\n", 50_000)),
        ("tasks", r("- [ ] a\n", 50_000)),
        ("headings", r("# a\n", 50_000)),
        ("empty headings", r("#\n", 100_000)),
        ("rules", r("***\n", 50_000)),
        ("breaks", r("a\\\n", 50_000)),
        ("wide table", format!("{}\n{}\n{}", r("a|", 5_000), r("-|", 5_000), r("|\n", 3_000))),
        ("long table", "|a|b|\n|-|-|\n".to_owned() + &r("|c|d|\n", 50_000)),
        ("small tables", r("|a|\n|-|\n\n", 30_000)),
        ("footnotes", (0..10_000 / share).map(|n| format!("[^{n}] \n\n[^{n}]: x\n\n")).collect()),
        ("footnote references", "[^a]: x\n\n".to_owned() + &r("[^a]", 50_000)),
        ("footnotes in quotes", r("> [^a]: ", 10_000)),
        ("undefined references", r("[a][b] ", 50_000)),
        ("definitions", (0..20_000 / share).map(|n| format!("[{n}]: https://a.example/{n}\n")).collect()),
        (
            "long definition, often used",
            format!("[a]: https://a.example/{}\n\n{}", r("x", 4_000), r("[a] ", 50_000)),
        ),
        ("schemes", r("http://a/(", 100_000)),
        ("schemes, spaces", r("http://a.example/ ", 60_000)),
        ("://", r("://", 100_000)),
        ("a:", r("a:", 200_000)),
        ("url of emphasis", "https://a.example/".to_owned() + &r("_a_/", 50_000)),
        ("url of stars", "https://a.example/".to_owned() + &r("*a", 100_000)),
        ("long word", "https://a.example/".to_owned() + &r("a", 1_000_000)),
        ("brackets in url", "https://a.example/".to_owned() + &r("(", 100_000) + &r(")", 100_000)),
        ("control characters", r("\u{1}", 200_000)),
        ("bidi", r("\u{202E}", 200_000)),
        ("references: paths", "# References\n- ".to_owned() + &r("a/b.rs, ", 50_000)),
        ("references: codes", "# References\n- ".to_owned() + &r("`a: b`", 50_000)),
        ("references: prose", "# References\n- x y ".to_owned() + &r("`a/b.rs` - ", 50_000)),
        ("references: words", "# References\n- x y ".to_owned() + &r("a/b.rs - ", 50_000)),
        ("references: colons", "# References\n- ".to_owned() + &r(":1", 100_000) + "x"),
        ("references: items", "# References\n".to_owned() + &r("- a/b.rs:1 - c\n", 50_000)),
        ("references: links", "# References\n- ".to_owned() + &r("[a](b/c.rs) ", 50_000)),
        ("spaces", r(" ", 1_000_000) + "x"),
        ("line ends", r("\n", 1_000_000)),
        ("carriage returns", r("\r", 1_000_000)),
        ("tabs", r("\t", 200_000)),
        ("files", r("a/b.rs:1 ", 50_000)),
        ("files in one word", r("a/b.rs:1:", 50_000)),
        ("code: keys", format!("```yaml\n{}{}\n```", r("-", 30_000), r(" a", 15_000))),
        ("code: marks", format!("```rust\n{}\n```", r("r#\"/*'", 10_000))),
        ("code: words", format!("```sql\n{}\n```", r("as ", 20_000))),
        ("code: blocks", r("```rust\nlet a = \"b\";\n```\n", 10_000)),
        (
            "honest",
            r(
                "## A finding\n\nThe *gauge* drifts, see https://a.example/x and `src/a.rs:4`.\n\n- one\n- two\n\n",
                10_000,
            ),
        ),
    ]
}

#[test]
fn floods_cost_no_more_than_their_length() {
    // Without optimization, ammonia is thirty times slower.
    for (_, text) in floods(8) {
        safe(&text);
        references(&text);
        excerpt(&text, 200);
    }
}

/// `cargo test --release --lib markdown -- --ignored --nocapture`
#[test]
#[ignore = "prints a table"]
fn time_of_floods() {
    println!(
        "{:32} {:>8} {:>8} {:>10} {:>10} {:>10}",
        "input", "KB in", "KB out", "html ms", "refs ms", "excerpt ms"
    );
    for (name, text) in floods(1) {
        let time = |work: &dyn Fn() -> usize| {
            let start = std::time::Instant::now();
            let size = work();
            (size, start.elapsed().as_secs_f64() * 1e3)
        };
        let (size, html) = time(&|| to_html(&text, &OPTIONS).len());
        let (_, refs) = time(&|| references(&text).len());
        let (_, short) = time(&|| excerpt(&text, 200).len());
        println!(
            "{name:32} {:>8} {:>8} {html:>10.1} {refs:>10.1} {short:>10.1}",
            text.len() / 1024,
            size / 1024
        );
    }
}

// ---- excerpt ----------------------------------------------------------------------------------------------

#[test]
fn a_lead_is_the_first_paragraph_and_the_code_that_belongs_to_it() {
    let lead = |text: &str| {
        let parsed = Parsed::new(text);
        parsed.lead(40).0.map(|lead| lead.to_html(&HtmlOptions { prefix: "x", heading_level: 3 }))
    };
    let code = "<pre tabindex=\"0\"><code>x = 1\n</code></pre>";
    let emphatic = "**Waits here.** It `c` waits. And then it waits for long.";
    for (text, shown) in [
        (emphatic, "<p><strong>Waits here.</strong> It <code>c</code> waits.</p>"),
        (
            "It *waits, and waits, and waits, and waits*, then fails.",
            "<p>It <em>waits, and waits, and waits, and…</em></p>",
        ),
        ("It is.\n\nNamely:\n\n    x = 1\n", &format!("<p>It is.</p><p>Namely:</p>{code}")),
        ("# So\n\nIt *waits*.\n\nAnd more.", "<p>It <em>waits</em>.</p>"),
        ("It is:\n\n    x = 1\n\nAnd more.", &format!("<p>It is:</p>{code}")),
        ("It is.\n\n- so\n\n```\nx = 1\n```\n", "<p>It is.</p>"),
        ("It is.\n\n## Else\n\n```\nx = 1\n```\n", "<p>It is.</p>"),
        ("It is[^1].\n\n[^1]: Not so.", "<p>It is.</p>"),
    ] {
        let html = lead(text).unwrap_or_else(|| panic!("{text:?} has none"));
        assert_eq!(html.replace(">\n<", "><").trim(), shown, "{text:?}");
    }
    let long = format!("It is.\n\n```\n{}```\n", "x = 1\n".repeat(20));
    assert_eq!(lead(&long).unwrap().trim(), "<p>It is.</p>");
    for none in ["", "- a list", "```\ncode\n```"] {
        assert_eq!(lead(none), None, "{none:?}");
    }
}

#[test]
fn the_rest_of_a_text_begins_where_its_lead_ends_and_nothing_is_lost() {
    let split = |text: &str| {
        let parsed = Parsed::new(text);
        let options = HtmlOptions { prefix: "x", heading_level: 3 };
        let (lead, rest) = parsed.lead(40);
        [lead.map_or_else(String::new, |lead| lead.to_html(&options)), rest.to_html(&options)]
            .map(|html| html.replace('\n', ""))
    };
    for (text, lead, rest) in [
        ("It is.", "<p>It is.</p>", ""),
        ("# So\n\nIt is.\n\n- so\n", "<p>It is.</p>", "<ul><li>so</li></ul>"),
        (
            "It waits here. **And `then` it waits for long, or longer.** It ends.",
            "<p>It waits here.</p>",
            "<p><strong>And <code>then</code> it waits for long, or longer.</strong> It ends.</p>",
        ),
        (
            "It *waits, and waits, and waits, and waits*, then fails.",
            "<p>It <em>waits, and waits, and waits, and…</em></p>",
            "<p><em>waits</em>, then fails.</p>",
        ),
        (
            "It is.\n\nOne.\n\nTwo:\n\n    x = 1\n\nThree.",
            "<p>It is.</p><p>Two:</p><pre tabindex=\"0\"><code>x = 1</code></pre>",
            "<p>One.</p><p>Three.</p>",
        ),
        ("It is.\n\nOne.\n\nTwo.\n\n- so", "<p>It is.</p>", "<p>One.</p><p>Two.</p><ul><li>so</li></ul>"),
        ("- so", "", "<ul><li>so</li></ul>"),
    ] {
        assert_eq!(split(text), [lead, rest], "{text:?}");
    }
}

#[test]
fn excerpts() {
    for (markdown, max, text) in [
        ("The *gauge* **drifts** by `3` cm.", 80, "The gauge drifts by 3 cm."),
        ("# Result\n\nIt drifts.\nReally.", 80, "Result: It drifts. Really."),
        ("# Why?\n\nSo.", 80, "Why? So."),
        ("# Only", 80, "Only"),
        ("- one\n- two\n\n|a|b|\n|-|-|\n|c|d|", 80, "one two"),
        ("|a|b|\n|-|-|\n|c|d|", 80, "a b c d"),
        ("It holds.\n\n## References\n\n- src/a.rs", 80, "It holds."),
        ("## References\n\n- src/a.rs", 80, "References: src/a.rs"),
        ("[text](https://a.example) ![alt](x)", 80, "text alt"),
        ("Text\n\n```\ncode\n```\n\nmore[^1]\n\n[^1]: note", 80, "Text … more"),
        ("Ten runs:\n\n|a|b|\n|-|-|\n|c|d|\n\nSo it holds.", 80, "Ten runs: … So it holds."),
        ("Text\n\n```\ncode\n```\n\n## Then\n\nmore", 80, "Text Then: more"),
        ("|a|b|\n|-|-|\n|c|d|\n\nSo it holds.", 80, "So it holds."),
        ("```\nonly  code\n```", 80, "only code"),
        ("Vec<T> & `a<b`", 80, "Vec<T> & a<b"),
        ("one two three", 13, "one two three"),
        ("one two three", 12, "one two…"),
        ("one two, three", 9, "one two…"),
        ("one two three", 8, "one two…"),
        ("one two three", 7, "one…"),
        ("abcdefghij", 5, "abcd…"),
        ("äöüß", 3, "äö…"),
        ("abc", 0, ""),
        ("a\u{202E}b", 80, "a\u{FFFD}b"),
        ("", 10, ""),
    ] {
        assert_eq!(excerpt(markdown, max), text, "{markdown}");
    }
    let long = "# Slow\n\n(See p1/x.py.) It is slow.\n\n1. Why is it?\n2. Say it plainly.\n3. Since when?";
    for (markdown, max, asked) in
        [(long, 40, "Why is it? Since when?"), (long, 12, "Why is it?…"), ("It is slow.", 6, "It is…")]
    {
        assert_eq!(question(markdown, max), asked);
    }
}

#[test]
fn all_of_a_text_can_be_searched() {
    let text =
        plain_text("## Runs\n\n|a|b|\n|-|-|\n|c|d|\n\n```\ncode\n```\n\n## References\n\n- src/a.rs", 200);
    assert_eq!(text, "Runs: a b c d code References: src/a.rs");
    assert_eq!(plain_text("one two three", 8), "one two…");
}

#[test]
fn a_list_of_references_is_a_section_of_that_name() {
    for (text, lists) in [
        ("So.\n\n## References\n\n- src/a.rs", true),
        ("So.\n\nReference:\n---\n- src/a.rs", true),
        ("See the references in src/a.rs.", false),
        ("```\n## References\n```", false),
        ("## References to it\n\n- src/a.rs", false),
    ] {
        assert_eq!(super::Parsed::new(text).references().1, lists, "{text}");
    }
}

// ---- anything ---------------------------------------------------------------------------------------------

/// Generates text from pieces that are meaningful to one of the parsers, so that random text is not mostly prose.
fn soup() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "a",
        "b c",
        "\n",
        "\n\n",
        "  ",
        "\t",
        "    ",
        "# ",
        "## References\n",
        "> ",
        "- ",
        "1. ",
        "* ",
        "_",
        "__",
        "*",
        "**",
        "~~",
        "`",
        "```\n",
        "```js\n",
        "[",
        "]",
        "(",
        ")",
        "![",
        "](",
        "https://a.example/",
        "http://",
        "javascript:",
        "//",
        "<",
        ">",
        "</",
        "<script>",
        "<!--",
        "-->",
        "<a href=x>",
        "&",
        "&lt;",
        "&#106;",
        "&Tab;",
        "|",
        "|-|\n",
        ":",
        " - ",
        "[^1]",
        "[^1]: ",
        "[a]: ",
        "[x] ",
        "- [ ] ",
        "[!NOTE]\n",
        "src/a.rs",
        ":42",
        "#L1",
        "\\",
        "\"",
        "'",
        "=",
        "---\n",
        "===\n",
        "\u{202E}",
        "\u{0}",
        "\u{200B}",
        "\r",
        "é",
        "日本",
        "🏴",
        "{{",
        "}}",
        "#",
        "(#a)",
        "mailto:a@b.example",
        "@",
    ]);
    prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(crate::testing::sampled(500))]

    #[test]
    fn any_soup_is_safe(text in soup()) {
        safe(&text);
        excerpt(&text, 20);
        Parsed::new(&text).unreadable_references();
        for mention in references(&text) {
            prop_assert!(!mention.target.is_empty());
            prop_assert!(mention.title.is_none_or(|title| !title.is_empty()));
        }
    }

    #[test]
    fn any_text_is_safe(text in "\\PC{0,200}|(?s).{0,200}", max in 0_usize..100) {
        safe(&text);
        references(&text);
        prop_assert!(excerpt(&text, max).chars().count() <= max);
    }
}

#[test]
fn a_path_keeps_the_last_of_its_lines() {
    let lines = |path: &str| {
        let found = references(&format!("## References\n- {path}"));
        found.first().map(|mention| (mention.line, mention.last_line))
    };
    for (path, expected) in [
        ("src/a.rs:18-24", (Some(18), Some(24))),
        ("src/a.rs:18–24", (Some(18), Some(24))),
        ("src/a.rs#L18-L24", (Some(18), Some(24))),
        ("src/a.rs:18", (Some(18), None)),
        ("src/a.rs:18:7", (Some(18), None)),
        ("src/a.rs:18-18", (Some(18), None)),
        ("src/a.rs:24-18", (Some(24), None)),
        ("src/a.rs:18-99999999999", (Some(18), None)),
        ("src/a.rs", (None, None)),
    ] {
        assert_eq!(lines(path), Some(expected), "{path}");
    }
}

#[test]
fn a_source_given_as_data_is_a_path_unless_it_says_otherwise() {
    for path in ["src/a.rs", "a.rs:7", "LICENSE", "src/queue", "./x.py", "/abs/x.py"] {
        assert!(own_path(path).is_some(), "{path}");
    }
    for other in
        ["https://a.example/x.rs", "owner/name src/a.rs:7", "tot@0a1b2c3:src/a.rs", "the wiki", "ADR 12", ""]
    {
        assert!(own_path(other).is_none(), "{other}");
    }
}

#[test]
fn files_with_lines_are_found_and_nothing_else_is() {
    let found = |text: &str| -> Vec<(String, u32, u32)> {
        file_lines(text).into_iter().map(|it| (it.path.to_owned(), it.first, it.last)).collect()
    };
    let one = |path: &str, first, last| vec![(path.to_owned(), first, last)];
    for (text, path, first, last) in [
        ("src/a.rs:12", "src/a.rs", 12, 12),
        ("(see src/a.rs:12-14).", "src/a.rs", 12, 14),
        ("a.rs:12:5: error", "a.rs", 12, 12),
        ("x/y.test.ts#L3-L4,", "x/y.test.ts", 3, 4),
        ("«./lib/c++/a.h:9»", "lib/c++/a.h", 9, 9),
        ("src/a.rs:9-3", "src/a.rs", 9, 9),
    ] {
        assert_eq!(found(text), one(path, first, last), "{text}");
    }
    for text in [
        "12:30",
        "127.0.0.1:8080",
        "localhost:80",
        "a/b:12",
        "src/a.rs",
        "src/a.rs:",
        "src/a.rs:0",
        "src/a.rs:x",
        "src/a.rs:12a",
        "src/a.rs:123456789",
        "../a.rs:1",
        "/etc/a.conf:1",
        "a/../b.rs:1",
        "a//b.rs:1",
        "R2.A1:3",
        "name@0123abc:src/a.rs:12",
        "https:src/a.rs:1",
        "a.rs#12",
        "a.rs#Lx",
        ":1",
        "#L1",
        "~/a.rs:1",
        "C:a.rs:1",
        "a.:1",
        "ä.rs:1",
    ] {
        assert_eq!(found(text), [], "{text}");
    }
    assert_eq!(found("a/b.rs:1 and a/c.rs:2").len(), 2);
}

#[test]
fn a_number_is_shown_as_it_was_written() {
    for (written, shown) in [
        ("8*16*4 = 512", "8*16*4 = 512"),
        ("2*3*4*5", "2*3*4*5"),
        ("0*5*0", "0*5*0"),
        ("x*2*y", "x*2*y"),
        ("2*3*(4+5) = 54, (2)*3*4", "2*3*(4+5) = 54, (2)*3*4"),
        ("10**3 and 10**6", "10**3 and 10**6"),
        ("~5~ ms", "~5~ ms"),
        ("50%*2*3, `8`*4*2, 8！*１６*４, 3*4*", "50%*2*3, 8*4*2, 8！*１６*４, 3*4*"),
        ("**8**16, ~~8~~16, 8***16***4", "**8**16, ~~8~~16, 8***16***4"),
        ("~~5~~ 6 ms", "5 6 ms"),
        ("a *8* b, **3**x", "a 8 b, 3x"),
    ] {
        assert_eq!(plain_text(written, 100), shown);
    }
}
