//! What in a block of code is a comment, a text, a number or a word of the language: by a table of languages and one pass from
//! the first character to the last.
//!
//! No library: those with grammars of their own (syntect and its like) search with expressions that go back, so that a stranger's
//! line decides how long they take. Here each character is looked at a bounded number of times. What that gets wrong is only a
//! colour.

/// What a piece of code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Comment,
    Text,
    Number,
    Word,
}

impl Kind {
    /// The class of its element.
    pub fn class(self) -> &'static str {
        match self {
            Kind::Comment => "hl-comment",
            Kind::Text => "hl-text",
            Kind::Number => "hl-number",
            Kind::Word => "hl-word",
        }
    }
}

/// How a language is written, as far as colours need it.
struct Language {
    /// What people write behind the fence, and the endings of files.
    names: &'static [&'static str],
    /// What begins a comment that ends with its line.
    line_comments: &'static [&'static str],
    /// What goes from one mark to another, over several lines: the longer marks first.
    spans: &'static [(&'static str, &'static str, Kind)],
    /// What stands before and behind a text of one line, in which a backslash takes the next character along.
    quotes: &'static str,
    /// Texts of this kind may go on over the ends of lines.
    long_quotes: &'static str,
    words: &'static [&'static str],
    /// What stands behind a key at the beginning of a line.
    key_sign: Option<char>,
    /// Whether words may be written in either case.
    any_case: bool,
}

const PLAIN: Language = Language {
    names: &[],
    line_comments: &[],
    spans: &[],
    quotes: "",
    long_quotes: "",
    words: &[],
    key_sign: None,
    any_case: false,
};
const C_COMMENT: (&str, &str, Kind) = ("/*", "*/", Kind::Comment);

/// A language of the table; what is left out is as in [`PLAIN`].
macro_rules! language {
    ($($field:ident: $value:expr),* $(,)?) => { Language { $($field: $value,)* ..PLAIN } };
}

static LANGUAGES: &[Language] = &[
    language! {
        names: &["rust", "rs"],
        line_comments: &["//"],
        spans: &[("r##\"", "\"##", Kind::Text), ("r#\"", "\"#", Kind::Text), C_COMMENT],
        long_quotes: "\"",
        words: &[
            "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "false", "fn",
            "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self", "Self",
            "static", "struct", "super", "trait", "true", "type", "unsafe", "use", "where", "while",
        ],
    },
    language! {
        names: &["python", "py", "python3"],
        line_comments: &["#"],
        spans: &[("\"\"\"", "\"\"\"", Kind::Text), ("'''", "'''", Kind::Text)],
        quotes: "\"'",
        words: &[
            "and", "as", "assert", "async", "await", "break", "case", "class", "continue", "def", "del", "elif", "else",
            "except", "False", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "match", "None",
            "nonlocal", "not", "or", "pass", "raise", "return", "True", "try", "while", "with", "yield",
        ],
    },
    language! {
        names: &["javascript", "js", "jsx", "mjs", "cjs", "typescript", "ts", "tsx"],
        line_comments: &["//"],
        spans: &[C_COMMENT],
        quotes: "\"'",
        long_quotes: "`",
        words: &[
            "abstract", "as", "async", "await", "break", "case", "catch", "class", "const", "continue", "default", "delete",
            "do", "else", "enum", "export", "extends", "false", "finally", "for", "from", "function", "if", "implements",
            "import", "in", "instanceof", "interface", "let", "new", "null", "of", "private", "protected", "public",
            "readonly", "return", "static", "super", "switch", "this", "throw", "true", "try", "type", "typeof", "undefined",
            "var", "void", "while", "yield",
        ],
    },
    language! {
        names: &["go", "golang"],
        line_comments: &["//"],
        spans: &[C_COMMENT],
        quotes: "\"'",
        long_quotes: "`",
        words: &[
            "break", "case", "chan", "const", "continue", "default", "defer", "else", "fallthrough", "false", "for", "func",
            "go", "goto", "if", "import", "interface", "map", "nil", "package", "range", "return", "select", "struct",
            "switch", "true", "type", "var",
        ],
    },
    language! {
        names: &[
            "c", "h", "cc", "cpp", "c++", "cxx", "hpp", "java", "kotlin", "kt", "swift", "csharp", "cs", "scala", "dart", "zig",
        ],
        line_comments: &["//"],
        spans: &[("\"\"\"", "\"\"\"", Kind::Text), C_COMMENT],
        quotes: "\"'",
        words: &[
            "abstract", "auto", "bool", "boolean", "break", "byte", "case", "catch", "char", "class", "const", "constexpr",
            "continue", "default", "delete", "do", "double", "else", "enum", "extends", "extern", "false", "final", "finally",
            "float", "for", "foreach", "fun", "func", "goto", "guard", "if", "implements", "import", "in", "int", "interface",
            "internal", "is", "let", "long", "namespace", "new", "nil", "null", "nullptr", "object", "operator", "override",
            "package", "private", "protected", "public", "return", "self", "short", "signed", "sizeof", "static", "string",
            "struct", "super", "switch", "synchronized", "template", "this", "throw", "throws", "true", "try", "typedef",
            "typename", "union", "unsigned", "using", "val", "var", "virtual", "void", "volatile", "when", "while",
        ],
    },
    language! {
        names: &["sh", "bash", "shell", "zsh", "console", "shellsession", "dockerfile", "make", "makefile"],
        line_comments: &["#"],
        long_quotes: "\"'",
        words: &[
            "case", "cd", "do", "done", "elif", "else", "esac", "exit", "export", "fi", "for", "function", "if", "in", "local",
            "return", "set", "then", "until", "while",
        ],
    },
    language! {
        names: &["ruby", "rb"],
        line_comments: &["#"],
        quotes: "\"'",
        words: &[
            "and", "begin", "break", "case", "class", "def", "do", "else", "elsif", "end", "ensure", "false", "if", "in",
            "module", "next", "nil", "not", "or", "require", "rescue", "return", "self", "super", "then", "true", "unless",
            "until", "when", "while", "yield",
        ],
    },
    language! {
        names: &["sql", "postgres", "postgresql", "mysql", "sqlite"],
        line_comments: &["--"],
        spans: &[C_COMMENT],
        long_quotes: "'",
        quotes: "\"",
        any_case: true,
        words: &[
            "add", "all", "alter", "analyze", "and", "as", "asc", "begin", "between", "by", "case", "check", "commit",
            "constraint", "create", "default", "delete", "desc", "distinct", "drop", "else", "end", "exists", "explain", "for",
            "foreign", "from", "full", "group", "having", "if", "in", "index", "inner", "insert", "into", "is", "join", "key",
            "left", "like", "limit", "lock", "not", "null", "offset", "on", "or", "order", "outer", "primary", "references",
            "returning", "right", "rollback", "select", "set", "skip", "table", "then", "transaction", "union", "unique",
            "update", "using", "values", "view", "when", "where", "with",
        ],
    },
    language! { names: &["json", "jsonc", "json5"], line_comments: &["//"], quotes: "\"", words: &["false", "null", "true"] },
    language! {
        names: &["yaml", "yml"],
        line_comments: &["#"],
        quotes: "\"'",
        words: &["false", "null", "true"],
        key_sign: Some(':'),
    },
    language! {
        names: &["toml", "ini"],
        line_comments: &["#"],
        spans: &[("\"\"\"", "\"\"\"", Kind::Text), ("'''", "'''", Kind::Text)],
        quotes: "\"'",
        words: &["false", "true"],
        key_sign: Some('='),
    },
    language! { names: &["html", "xml", "svg"], spans: &[("<!--", "-->", Kind::Comment)], quotes: "\"" },
    language! { names: &["css", "scss"], spans: &[C_COMMENT], quotes: "\"'" },
];

/// A block of code in pieces, which together are all of it; none for a language that is not in the table.
pub(super) fn pieces<'c>(code: &'c str, language: &str) -> Option<Vec<(Option<Kind>, &'c str)>> {
    let name = language.to_ascii_lowercase();
    let language = LANGUAGES.iter().find(|language| language.names.contains(&name.as_str()))?;
    let mut pieces = Vec::new();
    let (mut plain, mut at) = (0, 0);
    // Whether no word has come on this line yet.
    let mut begins_line = true;
    while at < code.len() {
        let (kind, length) = language.token(code, at, begins_line);
        begins_line = match &code[at..at + length] {
            "\n" => true,
            " " | "-" => begins_line,
            _ => false,
        };
        if let Some(kind) = kind {
            if plain < at {
                pieces.push((None, &code[plain..at]));
            }
            pieces.push((Some(kind), &code[at..at + length]));
            plain = at + length;
        }
        at += length;
    }
    if plain < code.len() {
        pieces.push((None, &code[plain..]));
    }
    Some(pieces)
}

impl Language {
    /// What stands at a place, and how many bytes it has: one at least.
    fn token(&self, code: &str, at: usize, begins_line: bool) -> (Option<Kind>, usize) {
        let rest = &code[at..];
        let Some(first) = rest.chars().next() else { return (None, 1) };
        let before = code[..at].chars().next_back();
        let to_line_end = |rest: &str| rest.find('\n').unwrap_or(rest.len());
        // In a shell, and in an address, a sign within a word begins no comment.
        let stands_apart = before.is_none_or(|c| c.is_whitespace() || ";{}(),".contains(c));
        let begins_comment = |mark: &&str| rest.starts_with(*mark) && (stands_apart || *mark == "--");
        if self.line_comments.iter().any(begins_comment) {
            return (Some(Kind::Comment), to_line_end(rest));
        }
        if let Some((open, close, kind)) = self.spans.iter().find(|(open, ..)| rest.starts_with(open)) {
            let inside = &rest[open.len()..];
            let end = inside.find(close).map_or(rest.len(), |end| open.len() + end + close.len());
            return (Some(*kind), end);
        }
        if self.quotes.contains(first) || self.long_quotes.contains(first) {
            let is_long = self.long_quotes.contains(first);
            return (Some(Kind::Text), quoted(rest, first, is_long));
        }
        let is_in_word = |c: char| c.is_alphanumeric() || c == '_';
        let word = rest.find(|c| !is_in_word(c)).unwrap_or(rest.len());
        if first.is_ascii_digit() {
            // With one fraction: `1.5e3`, and not `1..3`.
            let fraction =
                rest[word..].strip_prefix('.').filter(|it| it.starts_with(|c: char| c.is_ascii_digit()));
            let length = fraction.map_or(0, |it| 1 + it.find(|c| !is_in_word(c)).unwrap_or(it.len()));
            return (Some(Kind::Number), word + length);
        }
        if word == 0 {
            return (None, first.len_utf8());
        }
        if let Some(length) = self.key_sign.filter(|_| begins_line).and_then(|sign| key(rest, sign)) {
            return (Some(Kind::Word), length);
        }
        let name = &rest[..word];
        let is_word = match self.any_case {
            true => self.words.iter().any(|word| word.eq_ignore_ascii_case(name)),
            false => self.words.contains(&name),
        };
        (is_word.then_some(Kind::Word), word)
    }
}

/// How many bytes a text takes from its first quote on. One that does not end goes to the end of its line, or of all.
fn quoted(rest: &str, quote: char, is_long: bool) -> usize {
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '\n' if !is_long => return at,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// How many bytes a key has with which a line begins.
fn key(rest: &str, sign: char) -> Option<usize> {
    let length = rest.find(|c: char| !(c.is_alphanumeric() || "_-.".contains(c))).unwrap_or(rest.len());
    rest[length..].trim_start_matches(' ').starts_with(sign).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each piece that has a colour, with the first letter of what it is.
    fn coloured(code: &str, language: &str) -> String {
        let pieces = pieces(code, language).unwrap();
        assert_eq!(pieces.iter().map(|(_, piece)| *piece).collect::<String>(), code);
        let shown = pieces.iter().filter_map(|(kind, piece)| Some((kind.as_ref()?, piece)));
        shown.map(|(kind, piece)| format!("{}:{piece}", &kind.class()[3..4])).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn each_language_has_its_words_texts_and_comments() {
        for (language, code, expected) in [
            ("Rust", "let x = 'a'; // \"no\"\nfn f<'b>()", "w:let | c:// \"no\" | w:fn"),
            (
                "rs",
                "r#\"a\"b\"#; \"c\\\"d\ne\" 1.5e3 1..3",
                "t:r#\"a\"b\"# | t:\"c\\\"d\ne\" | n:1.5e3 | n:1 | n:3",
            ),
            ("py", "def f(): # c\n  '''a\nb''' 'x\ny", "w:def | c:# c | t:'''a\nb''' | t:'x"),
            ("ts", "const a = `x\n${b}`; /* c\n */ x1", "w:const | t:`x\n${b}` | c:/* c\n */"),
            ("bash", "echo a#b http://x $# # c", "c:# c"),
            (
                "sql",
                "Select a -- b\nFROM c WHERE d = 'e\nf'",
                "w:Select | c:-- b | w:FROM | w:WHERE | t:'e\nf'",
            ),
            ("json", "{\"a\": [1, true]}", "t:\"a\" | n:1 | w:true"),
            ("yaml", "- a.b: c: d # e\nf : true", "w:a.b | c:# e | w:f | w:true"),
            ("html", "<a href=\"x\"><!-- y -->", "t:\"x\" | c:<!-- y -->"),
        ] {
            assert_eq!(coloured(code, language), expected, "{language}: {code}");
        }
        assert_eq!(pieces("let x", "nothing"), None);
        assert_eq!(pieces("let x", ""), None);
    }

    #[test]
    fn any_text_is_kept_whole() {
        let texts = [
            "",
            "\\",
            "\"",
            "\"\\",
            "'",
            "/*",
            "r#\"",
            "\u{301}\"ä\\ä",
            "\0\u{202e}",
            "1.",
            "a:",
            "-",
            "```",
            "é1.é",
        ];
        for language in LANGUAGES.iter().flat_map(|language| language.names) {
            for (one, other) in texts.iter().flat_map(|one| texts.map(|other| (*one, other))) {
                coloured(&format!("{one}{other}"), language);
                coloured(&format!("{one} x\n{other}"), language);
            }
        }
    }

    #[test]
    fn a_name_belongs_to_one_language() {
        let mut names: Vec<_> = LANGUAGES.iter().flat_map(|language| language.names).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
