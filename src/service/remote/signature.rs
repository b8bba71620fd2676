//! Signed tags, which git creates and verifies according to the user's configuration.
//!
//! Only the user's configuration determines the programs that sign and verify, and the allowed keys. If the
//! repository's configuration could also determine them, a stranger's folder could start a program that accepts every
//! signature. The repository may choose the signing key and its format.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use super::process::{Deadline, GitCall};
use super::settings::is_whole;
use super::{GitProgram, RemoteError, Result};
use crate::base::{platform, temporary::TemporaryFolder};
use crate::store::CommitId;
use crate::text::{one_line, shell_line, shorten};

/// Settings that a repository cannot change, with git's defaults. OpenPGP keys must also be trusted. Otherwise any key in the
/// keyring would be accepted.
const USERS_OWN: [(&str, &str); 8] = [
    ("gpg.program", "gpg"),
    ("gpg.openpgp.program", "gpg"),
    ("gpg.x509.program", "gpgsm"),
    ("gpg.ssh.program", "ssh-keygen"),
    // A command that returns no key.
    ("gpg.ssh.defaultkeycommand", "false"),
    ("gpg.ssh.allowedsignersfile", ""),
    ("gpg.ssh.revocationfile", ""),
    ("gpg.mintrustlevel", "marginal"),
];

/// A tag to create.
pub struct NewTag<'a> {
    /// The name, without `refs/tags/`.
    pub name: &'a str,
    /// The tagged commit.
    pub commit: CommitId,
    /// The message.
    pub message: &'a str,
    /// True to sign the tag.
    pub is_signed: bool,
}

/// The result of verifying a tag signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signature {
    /// The signature is valid, and its key is allowed.
    Good {
        /// The owner of the key, from the allowed signers file or the keyring.
        signer: String,
    },
    /// The signature could not be verified.
    Unchecked {
        /// The reason.
        why: String,
    },
    /// The signature is invalid, or its key is not allowed.
    Bad {
        /// The reason.
        why: String,
    },
}

impl GitProgram {
    /// Creates an annotated tag. Signing may prompt for a passphrase.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no signing key, the name is in use, or git fails.
    pub fn tag(&self, repository: &Path, tag: &NewTag<'_>) -> Result<()> {
        self.tag_with(repository, tag, Vec::new())
    }

    /// Signs a tag in a temporary repository, without asking for a passphrase.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`GitProgram::tag`], and an error after ten seconds, for example because a key waits to be touched.
    pub fn try_signing(&self) -> Result<()> {
        let deadline = Deadline::default();
        deadline.set(Duration::from_secs(10));
        let git = self.clone().until(deadline);
        let io = |source| RemoteError::Io { action: "create a temporary folder".to_owned(), source };
        let folder = TemporaryFolder::new(&std::env::temp_dir(), "tot-signing-").map_err(io)?;
        let folder = folder.path();
        git.here(folder, &["init", "--quiet", "--template="])?.succeeded()?;
        let tree = git.here(folder, &["write-tree"])?.succeeded()?.text();
        let commit = git.commit_tree(folder, tree.trim(), &[], "Try")?;
        let tag = NewTag { name: "try", commit, message: "Try", is_signed: true };
        let unasked = [("SSH_ASKPASS", "false"), ("SSH_ASKPASS_REQUIRE", "force")];
        git.tag_with(folder, &tag, unasked.map(|(name, value)| (name, value.to_owned())).into())
    }

    /// Says what is wrong with a secret key of OpenPGP. Nobody is asked for its PIN.
    pub fn openpgp_fault(&self, key: &str) -> Option<String> {
        let program = gpg(&self.users_own(Path::new("."), None).unwrap_or_default());
        let mut list = platform::command(&program, Path::new("."));
        list.args(["--batch", "--with-colons", "--list-secret-keys", "--", key]).stdin(Stdio::null());
        let listed = match list.output() {
            Ok(listed) => String::from_utf8_lossy(&listed.stdout).into_owned(),
            Err(error) => return Some(format!("{program} can't be started: {error}")),
        };
        // `sec:<validity>:…`
        let found = listed.lines().filter_map(|line| line.strip_prefix("sec:")?.chars().next());
        let fault = match found.max_by_key(|it| !"er".contains(*it)) {
            Some('e') => "says that it has expired",
            Some('r') => "says that it was revoked",
            Some(_) => return None,
            None => "has no such secret key",
        };
        Some(format!("{program} {fault}"))
    }

    fn tag_with(
        &self,
        repository: &Path,
        tag: &NewTag<'_>,
        mut variables: Vec<(&'static str, String)>,
    ) -> Result<()> {
        let commit = tag.commit.to_string();
        let mut arguments = self.users_own(repository, None)?;
        let sign = if tag.is_signed { "--sign" } else { "--no-sign" };
        let tagging = ["tag", "--annotate", sign, "--cleanup=verbatim", "--file=-", "--", tag.name, &commit];
        arguments.extend(tagging.map(str::to_owned));
        let what = if tag.is_signed { "signing" } else { "git tag" };
        let input = Some(tag.message.as_bytes().to_vec());
        // As in commits, the environment comes last.
        let settings = self.settings(repository)?;
        let set = |last: &str| {
            let set = |role: &str| settings.last(&format!("{role}.{last}")).filter(|value| !value.is_empty());
            set("committer").or_else(|| set("user")).map(str::to_owned)
        };
        let person = [("GIT_COMMITTER_NAME", "name"), ("GIT_COMMITTER_EMAIL", "email")];
        variables.extend(person.into_iter().filter_map(|(name, last)| Some((name, set(last)?))));
        let call = GitCall { what, input, variables, asks: tag.is_signed, ..GitCall::default() };
        let mut ran = self.run(repository, &arguments, call)?;
        // What remains is the reason. Git shows a carriage return as a question mark.
        let is_reason = |line: &&str| {
            !["error: unable to sign the tag", "The tag message has been left", "[GNUPG:]"]
                .iter()
                .any(|it| line.starts_with(it))
        };
        let reason: Vec<&str> =
            ran.said.lines().filter(is_reason).map(|line| line.trim_end_matches('?')).collect();
        ran.said = reason.join("\n");
        let ran = ran.succeeded()?;
        let reference = format!("refs/tags/{}", tag.name);
        // Git before 2.40 creates the tag without a signature if ssh-keygen fails.
        let is_as_asked = || -> Result<bool> {
            let made = self.here(repository, &["cat-file", "tag", &reference])?.succeeded()?.text();
            Ok(!tag.is_signed || made.trim_end().ends_with("-----"))
        };
        if !is_as_asked()? {
            self.remove_reference(repository, &reference)?;
            return Err(RemoteError::Failed { what: ran.what, said: ran.said });
        }
        Ok(())
    }

    /// Verifies the signatures of signed tag objects. `allowed` is an allowed signers file that replaces the user's own.
    ///
    /// git verifies copies in a repository of our own, because it may refuse theirs: for its owner, or for an extension
    /// that git doesn't know.
    pub fn signatures(&self, repository: &Path, tags: &[Vec<u8>], allowed: Option<&Path>) -> Vec<Signature> {
        let unchecked =
            |error: &dyn std::fmt::Display| Signature::Unchecked { why: one_line(&error.to_string()) };
        if tags.is_empty() {
            return Vec::new();
        }
        let places = [std::env::temp_dir(), PathBuf::from("/tmp"), repository.join(".git")];
        let folder = places.iter().find_map(|place| TemporaryFolder::new(place, "tot-signatures-").ok());
        let Some(folder) = folder else {
            return vec![unchecked(&"there is no folder for temporary files"); tags.len()];
        };
        let folder = folder.path();
        let run = |arguments: &[String], input: Option<Vec<u8>>| {
            let call = GitCall { input, temporary: Some(folder), ..GitCall::default() };
            self.run(folder, arguments, call)
        };
        let begun = run(&["init", "--quiet", "--template="].map(str::to_owned), None)
            .and_then(|ran| ran.succeeded())
            .and_then(|_| self.users_own(repository, allowed).or_else(|_| self.users_own(folder, allowed)));
        let settings = match begun {
            Ok(settings) => settings,
            Err(error) => return vec![unchecked(&error); tags.len()],
        };
        let check = |tag: &Vec<u8>| {
            let hash = ["hash-object", "-t", "tag", "-w", "--literally", "--stdin"].map(str::to_owned);
            let copied = run(&hash, Some(tag.clone()))?.succeeded()?;
            let verify = ["verify-tag", "--raw", copied.text().trim()].map(str::to_owned);
            let verified = || run(&[settings.as_slice(), &verify].concat(), None);
            let mut ran = verified()?;
            // Git is sometimes killed by SIGPIPE, because ssh-keygen ends before it has read what a malformed signature signs.
            for _ in 0..5 {
                if ran.status.is_some() {
                    break;
                }
                ran = verified()?;
            }
            // A key that expired signs nothing any more, but what it signed before stays good.
            let as_then = time_with_expired_key(&ran.errors).and_then(|time| gpg_at(time, folder, &settings));
            if let Some(program) = as_then {
                let then = ["-c".to_owned(), format!("gpg.openpgp.program={}", program.display())];
                let again = run(&[settings.as_slice(), &then, &verify].concat(), None)?;
                ran = if again.status == Some(0) { again } else { ran };
            }
            Ok::<_, RemoteError>(read(ran.status == Some(0), &ran.errors))
        };
        tags.iter().map(|tag| check(tag).unwrap_or_else(|error| unchecked(&error))).collect()
    }

    /// Returns the settings that the repository cannot change, as arguments.
    fn users_own(&self, repository: &Path, allowed: Option<&Path>) -> Result<Vec<String>> {
        let found = self.settings(repository)?;
        let mut settings: Vec<String> =
            USERS_OWN.iter().map(|(key, default)| format!("{key}={default}")).collect();
        let own = found.users_own().filter(|(key, ..)| USERS_OWN.iter().any(|(own, _)| own == key));
        settings
            .extend(own.map(|(key, value, origin)| format!("{key}={}", from_its_file(key, origin, value))));
        if let Some(allowed) = allowed {
            let path = std::path::absolute(allowed).unwrap_or_else(|_| allowed.to_owned());
            settings.push(format!("gpg.ssh.allowedsignersfile={}", path.display()));
        }
        // The last value wins, and arguments are applied after all files.
        Ok(settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]).collect())
    }
}

/// Resolves a path in a user setting. git runs in the repository, so a relative path is resolved from the file that
/// contains the setting, or from the current folder if there is no such file.
fn from_its_file(key: &str, origin: &str, value: &str) -> String {
    let is_file = key.ends_with("file");
    // A bare program name is looked up on the PATH.
    let is_way = (is_file || value.starts_with('.')) && !value.is_empty();
    if !is_way || is_whole(value) {
        return value.to_owned();
    }
    let folder = origin.strip_prefix("file:").and_then(|file| Path::new(file).parent());
    let path = folder.map_or_else(|| value.into(), |folder| folder.join(value));
    std::path::absolute(&path).unwrap_or(path).display().to_string()
}

impl RemoteError {
    /// Returns a hint if signing failed.
    pub fn without_key(&self) -> Option<&'static str> {
        let said = match self {
            RemoteError::Failed { what, said } if what == "signing" => said,
            _ => return None,
        };
        const NOT_HERE: &str =
            "The private key is neither in a file nor in an agent that runs here: `ssh-add` gives it to one";
        const EXPIRED: &str = "The key has expired, which `gpg --quick-set-expire` mends, or it was revoked: `gpg --list-keys` says which";
        const ADVICE: [(&str, &str); 8] = [
            (
                "incorrect passphrase",
                "Nobody was asked for the passphrase, or it is another: `ssh-add` gives the key to an agent",
            ),
            ("are too open", "`chmod 600` its file"),
            ("agent socket", NOT_HERE),
            ("key in agent", NOT_HERE),
            ("No private key found", NOT_HERE),
            ("KEYEXPIRED", EXPIRED),
            ("Unusable secret key", EXPIRED),
            ("Couldn't load public key", "`git config --global user.signingkey FILE` names another"),
        ];
        let known = ADVICE.iter().find(|(words, _)| said.contains(words)).map(|(_, advice)| *advice);
        Some(known.unwrap_or(
            "Set your key with `git config --global user.signingkey KEY`, for an SSH key also `git config --global \
             gpg.format ssh`; or give --unsigned, which every page shows",
        ))
    }
}

/// Returns the time of a signature, in seconds, if its OpenPGP key has expired.
fn time_with_expired_key(said: &str) -> Option<u64> {
    let mut lines = said.lines().filter_map(|line| line.strip_prefix("[GNUPG:] "));
    // `VALIDSIG <fingerprint> <date> <time> …`
    let time = lines.clone().find_map(|line| line.strip_prefix("VALIDSIG ")?.split(' ').nth(2)?.parse().ok());
    time.filter(|_| lines.any(|line| line.starts_with("EXPKEYSIG ")))
}

/// Returns the user's gpg.
fn gpg(settings: &[String]) -> String {
    let keys = ["gpg.program=", "gpg.openpgp.program="];
    let of_key = |setting: &String| keys.iter().find_map(|key| setting.strip_prefix(key).map(str::to_owned));
    let found = settings.iter().filter_map(of_key).rfind(|program| program != "gpg");
    found.unwrap_or_else(|| "gpg".to_owned())
}

/// Writes a script that starts the user's gpg with its clock at a time. Git for Windows runs scripts, too.
fn gpg_at(time: u64, folder: &Path, settings: &[String]) -> Option<PathBuf> {
    let words = [
        gpg(settings),
        "--faked-system-time".to_owned(),
        format!("{time}!"),
        "--no-auto-check-trustdb".to_owned(),
    ];
    let path = folder.join("gpg");
    let mut file = File::create(&path).ok()?;
    writeln!(file, "#!/bin/sh\nexec {} \"$@\"", shell_line(&words)).ok()?;
    platform::make_executable(&file).ok()?;
    Some(path)
}

/// Parses the output of git and the verifying program. A signature is bad only if the output says so: in any other case,
/// it was not checked.
fn read(succeeded: bool, said: &str) -> Signature {
    let status = |word: &str| {
        let is = |line: &&str| line.split(' ').next() == Some(word);
        said.lines().filter_map(|line| line.strip_prefix("[GNUPG:] ")).find(is)
    };
    // `GOODSIG <key> <name>`
    let good = status("GOODSIG").and_then(|line| line.splitn(3, ' ').nth(2)).map(one_line);
    let ssh = |line: &str| {
        let rest = line.strip_prefix("Good \"git\" signature for ")?;
        rest.rsplit_once(" with ").map(|(signer, _)| one_line(signer.trim_start_matches('\u{feff}')))
    };
    let unchecked = |why: &str| Signature::Unchecked { why: why.to_owned() };
    let bad = |why: &str| Signature::Bad { why: why.to_owned() };
    if succeeded {
        return match good.or_else(|| said.lines().find_map(ssh)) {
            Some(signer) => Signature::Good { signer },
            None => unchecked("git accepts it but names no signer"),
        };
    }
    const MALFORMED: &str = "the signature is malformed";
    const BAD: [(&str, &str); 4] = [
        ("BADSIG", "the signature does not match the signed content"),
        ("REVKEYSIG", "the key was revoked"),
        ("TRUST_NEVER", "your keyring marks the key as untrusted"),
        ("NODATA", MALFORMED),
    ];
    const OPEN: [(&str, &str); 3] = [
        ("EXPSIG", "the signature has expired since"),
        ("EXPKEYSIG", "its key has expired, so it may have been made later"),
        ("NO_PUBKEY", "the public key is not in your keyring"),
    ];
    let unopened = said.lines().find_map(|line| line.strip_prefix("Unable to open allowed keys file \""));
    if let Some((file, _)) = unopened.and_then(|it| it.split_once('"')).filter(|(file, _)| !file.is_empty()) {
        return unchecked(&format!("the file of allowed keys {} can't be opened", one_line(file)));
    }
    const SSH: [(&str, bool, &str); 15] = [
        ("allowedSignersFile needs to be configured", false, "no file lists the allowed keys"),
        ("Unable to open allowed keys file", false, "no file lists the allowed keys"),
        ("is needed for ssh signature verification", false, "your ssh-keygen is older than OpenSSH 8.2"),
        ("cannot run ", false, "can't start the program that checks such signatures"),
        ("could not create temporary file", false, "git could not create a temporary file"),
        ("failed: incorrect signature", true, "the signature does not match the signed content"),
        ("Couldn't parse signature", true, MALFORMED),
        (": invalid format", true, MALFORMED),
        ("key is not permitted for use", true, "its key is not allowed to sign for git"),
        ("no valid principals found", true, "its certificate had expired, or names no allowed signer"),
        (": key has expired", true, "its key had expired when it was signed"),
        (": key is not yet valid", true, "its key was not valid yet when it was signed"),
        ("Unable to read allowed keys file", false, "the file of allowed keys can't be read"),
        (": missing key", false, "the file of allowed keys has a line that can't be read"),
        ("No principal matched", true, "its key belongs to no allowed signer"),
    ];
    let find = |table: &[(&str, &'static str)]| {
        table.iter().find(|(word, _)| status(word).is_some()).map(|(_, why)| *why)
    };
    if let Some(why) = find(&BAD) {
        bad(why)
    } else if let Some(why) = find(&OPEN) {
        unchecked(why)
    } else if let Some(signer) = good {
        unchecked(&format!("your keyring does not mark the key of {signer} as trusted"))
    } else if let Some((_, is_bad, why)) = SSH.iter().find(|(words, ..)| said.contains(words)) {
        if *is_bad { bad(why) } else { unchecked(why) }
    } else if said.trim() == "Could not verify signature." {
        bad("the check failed; your revocation file may list its key")
    } else {
        let said = shorten(&one_line(said.trim()), 200);
        unchecked(&format!("git says: {}", if said.is_empty() { "nothing" } else { &said }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_git_calls_good_and_says_by_whom_is_good() {
        let good = |said: &str| matches!(read(true, said), Signature::Good { .. });
        let ssh = "Good \"git\" signature for anna@example.org with ED25519 key SHA256:x";
        assert_eq!(read(true, ssh), Signature::Good { signer: "anna@example.org".into() });
        let gpg = "[GNUPG:] NEWSIG\n[GNUPG:] GOODSIG AB12 Greta G <g@x>\n[GNUPG:] TRUST_ULTIMATE 0 pgp\n";
        assert_eq!(read(true, gpg), Signature::Good { signer: "Greta G <g@x>".into() });
        assert!(
            !good("") && !good("Good \"git\" signature with ED25519 key SHA256:x") && !good("GOODSIG 1 x")
        );
        let state = |said: &str| match read(false, said) {
            Signature::Good { .. } => "good",
            Signature::Unchecked { .. } => "unchecked",
            Signature::Bad { .. } => "bad",
        };
        for (said, expected) in [
            (ssh, "unchecked"),
            (gpg, "unchecked"),
            ("[GNUPG:] GOODSIG AB g\n[GNUPG:] TRUST_NEVER", "bad"),
            ("[GNUPG:] GOODSIG AB g\n[GNUPG:] BADSIG AB g", "bad"),
            ("[GNUPG:] EXPKEYSIG AB g", "unchecked"),
            ("[GNUPG:] NODATA 4", "bad"),
            ("[GNUPG:] REVKEYSIG AB g", "bad"),
            ("[GNUPG:] ERRSIG AB\n[GNUPG:] NO_PUBKEY AB", "unchecked"),
            ("error: cannot run gpgsm: No such file or directory", "unchecked"),
            ("fatal: detected dubious ownership in repository at '/x'", "unchecked"),
            ("fatal: unknown repository extension found:\n\tfoo", "unchecked"),
            ("error: could not create temporary file: No such file or directory", "unchecked"),
            (
                "error: ssh-keygen -Y find-principals/verify is needed for ssh signature verification",
                "unchecked",
            ),
            ("Couldn't parse signature: missing footer\nNo principal matched.", "bad"),
            ("/x:1: key has expired: verify time\nNo principal matched.", "bad"),
            ("/x:1: no valid principals found\nNo principal matched.", "bad"),
            ("/x:1: missing key\nNo principal matched.", "unchecked"),
            ("Unable to read allowed keys file \"/x\": Is a directory\nNo principal matched.", "unchecked"),
            ("Could not verify signature.\n", "bad"),
            ("", "unchecked"),
        ] {
            assert_eq!(state(said), expected, "{said}");
        }
    }
}
