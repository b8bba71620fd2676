//! Templates: the built-in ones, and those of users.

use super::*;

#[test]
fn a_template_of_the_users_replaces_one_and_an_asset() {
    let folder = crate::testing::folder();
    std::fs::write(folder.path().join("references.html"), "<p>{{ investigation.title }} of ours</p>")
        .unwrap();
    std::fs::create_dir(folder.path().join("assets")).unwrap();
    std::fs::write(folder.path().join("assets/style.css"), "body{}").unwrap();
    std::fs::write(folder.path().join("assets/logo.png"), [0, 255]).unwrap();
    let files = site(&SiteContents::from(&[sample()][..]), &with_folder(&folder).unwrap()).unwrap();
    assert!(page(&files, "references.html").starts_with("<p>Why did checkout latency double"));
    assert_eq!(
        (&files["assets/style.css"][..], &files["assets/logo.png"][..]),
        (&b"body{}"[..], &[0, 255][..])
    );
    assert!(page(&files, "index.html").contains("id=\"trust\""));
}

/// Names in the guide must exist, or templates based on it break.
#[test]
fn the_names_and_the_example_of_the_guide_work() {
    let guide = Templates::built_in().find(|(path, _)| path == "README.md").unwrap().1;
    let guide = std::str::from_utf8(guide).unwrap();
    let of = |heading: &str| -> String {
        let section = guide.split_once(&format!("\n### {heading}\n")).unwrap().1.split("\n#").next().unwrap();
        let names = section.split('`').skip(1).step_by(2).filter(|name| {
            name.contains('.') && name.chars().all(|c| c.is_ascii_lowercase() || "._".contains(c))
        });
        // Even testing an unknown name is an error.
        names.map(|name| format!("{{% if {name} %}}{{% endif %}}")).collect()
    };
    let every = of("On every page") + &of("On every page of an investigation");
    let small = "{% set card = node.card %}{% set time = node.proposed_at %}{% set state = card.state %}\
                 {% set verdict = investigation.sure %}{% if verdict %}"
        .to_owned()
        + &of("A time, a verdict, a state, a card")
        + "{% endif %}";
    let example = guide.split_once("```html\n").unwrap().1.split("```").next().unwrap();
    for (file, text) in [
        ("overview.html", every.clone() + &of("`overview.html`")),
        ("node.html", every + &of("`node.html`") + &small),
        ("sites.html", of("On every page") + &of("`sites.html`")),
        ("overview.html", example.to_owned()),
    ] {
        assert!(text.len() > 100, "{file} has names");
        let folder = crate::testing::folder();
        std::fs::write(folder.path().join(file), text).unwrap();
        site(&SiteContents::from(&[sample(), unfinished()][..]), &with_folder(&folder).unwrap())
            .unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn a_template_error_names_file_line_and_reason() {
    let cases = [
        ("index\n{% if %}\n", "overview.html", 2, "syntax error"),
        ("one\ntwo\n{{ investigation.titel }}\n", "overview.html", 3, "titel"),
        ("\n{{ investigation.ended_by }}", "overview.html", 2, "the value is absent here"),
        (
            "{% for a in range(100000) %}{% for b in range(100000) %}{{ b }}{% endfor %}{% endfor %}",
            "node.html",
            1,
            "loop",
        ),
        ("{% include \"none.html\" %}", "judged.html", 1, "none.html"),
    ];
    for (text, name, line, reason) in cases {
        let folder = crate::testing::folder();
        std::fs::write(folder.path().join(name), text).unwrap();
        let error = with_folder(&folder)
            .and_then(|templates| site(&SiteContents::from(&[unfinished()][..]), &templates))
            .unwrap_err();
        let ReportError::Template(error) = &error else { panic!("{error}") };
        assert_eq!(error.file, folder.path().join(name).display().to_string(), "{error}");
        assert_eq!(error.line, Some(line), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
    // For an included file, the error names that file rather than the page.
    let built_in = Templates::built_in().find(|(path, _)| path == "macros.html").unwrap().1;
    let broken = String::from_utf8(built_in.to_vec()).unwrap().replace("{{ state.name }}", "{{ state.nam }}");
    let line = broken.lines().position(|line| line.contains("state.nam }}")).unwrap() + 1;
    let folder = crate::testing::folder();
    std::fs::write(folder.path().join("macros.html"), broken).unwrap();
    let error = with_folder(&folder)
        .and_then(|templates| site(&SiteContents::from(&[unfinished()][..]), &templates))
        .unwrap_err();
    assert!(error.to_string().contains(&format!("macros.html:{line}: ")), "{error}");
    let missing = SiteOptions { template: Some(PathBuf::from("/nowhere/at/all")), ..SiteOptions::default() };
    let error = Templates::load(&missing).unwrap_err();
    assert_eq!(error.to_string(), "can't read the template /nowhere/at/all");
}

/// A template from a stranger once published the targets of its links, and a FIFO in it blocked forever.
#[cfg(unix)]
#[test]
fn a_template_takes_nothing_from_outside_its_folder() {
    use std::os::unix::{fs::symlink, net::UnixListener};
    let outside = crate::testing::folder();
    std::fs::write(outside.path().join("secret"), "s").unwrap();
    for (target, inside) in [(outside.path().join("secret"), "x"), (outside.path().to_owned(), "assets")] {
        let folder = crate::testing::folder();
        symlink(target, folder.path().join(inside)).unwrap();
        let error = with_folder(&folder).unwrap_err();
        assert!(crate::text::causes(&error).contains("points outside the template's folder"), "{error}");
    }
    let folder = crate::testing::folder();
    let _socket = UnixListener::bind(folder.path().join("x")).unwrap();
    let error = with_folder(&folder).unwrap_err();
    assert!(crate::text::causes(&error).contains("neither a file nor a folder"), "{error}");
    // A link inside the folder is one of its files, and a folder that contains itself ends.
    let folder = crate::testing::folder();
    std::fs::write(folder.path().join("a.css"), "a").unwrap();
    symlink("a.css", folder.path().join("b.css")).unwrap();
    assert_eq!(with_folder(&folder).unwrap().assets()["b.css"], b"a");
    symlink(".", folder.path().join("loop")).unwrap();
    let error = with_folder(&folder).unwrap_err();
    assert!(crate::text::causes(&error).contains("too deep"), "{error}");
}

#[test]
fn a_template_has_a_size() {
    let folder = crate::testing::folder();
    for name in 0..5 {
        let file = std::fs::File::create(folder.path().join(name.to_string())).unwrap();
        file.set_len(15 << 20).unwrap();
    }
    let error = with_folder(&folder).unwrap_err();
    assert!(crate::text::causes(&error).contains("larger than 64 MiB"), "{error}");
    std::fs::File::create(folder.path().join("0")).unwrap().set_len(17 << 20).unwrap();
    let error = with_folder(&folder).unwrap_err();
    assert!(crate::text::causes(&error).contains("MiB"), "{error}");
}

/// Few steps can print a lot.
#[test]
fn a_page_has_a_length() {
    let folder = crate::testing::folder();
    let text = "a".repeat(1 << 20);
    let page = format!("{{% for _ in range(100000) %}}{text}{{% endfor %}}");
    std::fs::write(folder.path().join("judged.html"), page).unwrap();
    let error = site(&SiteContents::from(&[unfinished()][..]), &with_folder(&folder).unwrap()).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("judged.html: the page is longer than 256 MiB: is there an endless loop?"),
        "{error}"
    );
}

#[test]
fn every_built_in_template_says_what_it_is_for_and_escapes_its_output() {
    for (path, bytes) in Templates::built_in().filter(|(path, _)| path.ends_with(".html")) {
        let text = std::str::from_utf8(bytes).unwrap();
        assert!(text.starts_with("{# "), "{path} does not begin with what it is for");
        for forbidden in ["safe", "autoescape", "style=\"", "<style"] {
            assert!(!text.contains(forbidden), "{forbidden} in {path}");
        }
    }
}
