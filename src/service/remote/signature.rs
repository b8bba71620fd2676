//! Signed tags, which git creates and verifies according to the user's configuration.
//!
//! Only the user's configuration determines the programs that sign and verify, and the allowed keys. If the
//! repository's configuration could also determine them, a stranger's folder could start a program that accepts every
//! signature. The repository may choose the signing key and its format.

use std::path::Path;

use super::process::GitCall;
use super::{GitProgram, RemoteError, Result};
use crate::store::CommitId;
use crate::text::{one_line, shorten};

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
    /// The signature can't be verified.
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
        let commit = tag.commit.to_string();
        let mut arguments = self.users_own(repository, None)?;
        let sign = if tag.is_signed { "--sign" } else { "--no-sign" };
        let tagging = ["tag", "--annotate", sign, "--cleanup=verbatim", "--file=-", "--", tag.name, &commit];
        arguments.extend(tagging.map(str::to_owned));
        let what = if tag.is_signed { "signing" } else { "git tag" };
        let input = Some(tag.message.as_bytes().to_vec());
        let call = GitCall { what, input, asks: tag.is_signed, ..GitCall::default() };
        self.run(repository, &arguments, call)?.succeeded().map(drop)
    }

    /// Verifies the signature of a signed tag object. `allowed` is an allowed signers file that replaces the user's own.
    ///
    /// # Errors
    ///
    /// Returns an error if git can't be started.
    pub fn signature(&self, repository: &Path, object: &str, allowed: Option<&Path>) -> Result<Signature> {
        let mut arguments = self.users_own(repository, allowed)?;
        arguments.extend(["verify-tag", "--raw", object].map(str::to_owned));
        let call = GitCall { what: "git verify-tag", ..GitCall::default() };
        let ran = self.run(repository, &arguments, call)?;
        Ok(read(ran.status == Some(0), &ran.errors))
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
    if !is_way || value.starts_with(['~', '%']) || Path::new(value).is_absolute() {
        return value.to_owned();
    }
    let folder = origin.strip_prefix("file:").and_then(|file| Path::new(file).parent());
    let path = folder.map_or_else(|| value.into(), |folder| folder.join(value));
    std::path::absolute(&path).unwrap_or(path).display().to_string()
}

impl RemoteError {
    /// Returns a hint if signing failed.
    pub fn without_key(&self) -> Option<&'static str> {
        matches!(self, RemoteError::Failed { what, .. } if what == "signing").then_some(
            "Set your key with `git config --global user.signingkey KEY`, for an SSH key also `git config --global \
             gpg.format ssh`; or give --unsigned, which every page shows",
        )
    }
}

/// Parses the output of git and the verifying program. Unknown output counts as a bad signature.
fn read(succeeded: bool, said: &str) -> Signature {
    let status = |word: &str| {
        let is = |line: &&str| line.split(' ').next() == Some(word);
        said.lines().filter_map(|line| line.strip_prefix("[GNUPG:] ")).find(is)
    };
    // `GOODSIG <key> <name>`
    let good = status("GOODSIG").and_then(|line| line.splitn(3, ' ').nth(2)).map(one_line);
    let ssh = |line: &str| {
        let rest = line.strip_prefix("Good \"git\" signature for ")?;
        rest.rsplit_once(" with ").map(|(signer, _)| one_line(signer))
    };
    let unchecked = |why: &str| Signature::Unchecked { why: why.to_owned() };
    let bad = |why: &str| Signature::Bad { why: why.to_owned() };
    if succeeded {
        return match good.or_else(|| said.lines().find_map(ssh)) {
            Some(signer) => Signature::Good { signer },
            None => bad("git accepts it but names no signer"),
        };
    }
    const BAD: [(&str, &str); 5] = [
        ("BADSIG", "the signature does not match the signed content"),
        ("EXPSIG", "the signature has expired"),
        ("EXPKEYSIG", "the key has expired"),
        ("REVKEYSIG", "the key was revoked"),
        ("TRUST_NEVER", "your keyring marks the key as untrusted"),
    ];
    const SSH: [(&str, bool, &str); 5] = [
        ("allowedSignersFile needs to be configured", false, "no file lists the allowed keys"),
        ("Unable to open allowed keys file", false, "no file lists the allowed keys"),
        ("cannot run ", false, "can't start the program that checks such signatures"),
        (
            "Signature verification failed: incorrect signature",
            true,
            "the signature does not match the signed content",
        ),
        ("No principal matched", true, "its key belongs to no allowed signer"),
    ];
    if let Some((_, why)) = BAD.iter().find(|(word, _)| status(word).is_some()) {
        bad(why)
    } else if let Some(signer) = good {
        unchecked(&format!("your keyring does not mark the key of {signer} as trusted"))
    } else if status("NO_PUBKEY").is_some() {
        unchecked("the public key is not in your keyring")
    } else if let Some((_, is_bad, why)) = SSH.iter().find(|(words, ..)| said.contains(words)) {
        if *is_bad { bad(why) } else { unchecked(why) }
    } else {
        bad(&format!("git says: {}", shorten(&one_line(said), 200)))
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
            (ssh, "bad"),
            (gpg, "unchecked"),
            ("[GNUPG:] GOODSIG AB g\n[GNUPG:] TRUST_NEVER", "bad"),
            ("[GNUPG:] GOODSIG AB g\n[GNUPG:] BADSIG AB g", "bad"),
            ("[GNUPG:] EXPKEYSIG AB g", "bad"),
            ("[GNUPG:] REVKEYSIG AB g", "bad"),
            ("[GNUPG:] ERRSIG AB\n[GNUPG:] NO_PUBKEY AB", "unchecked"),
            ("error: cannot run gpgsm: No such file or directory", "unchecked"),
            ("Couldn't parse signature: invalid format", "bad"),
            ("", "bad"),
        ] {
            assert_eq!(state(said), expected, "{said}");
        }
    }
}
