"""Converts an investigation of an older format: a repository or a bundle.

    python3 tests/convert.py SOURCE TARGET [--by-hand FILE]

TARGET must not exist. It becomes a bundle if its name ends in .bundle, else a repository. Every commit is written anew,
parents first, and branches and tags point to the new commits. Ids of old commits in messages become those of the new ones.
A commit that names a call gets the checksum that `tot` writes today, unless FILE lists it: one id, or the first digits of
one, in a line.

Node ids get their six characters, from the file with which the proposal was first committed. Files say `version: 2`.

To list the commits that a version without checksums takes for edited by hand, run it on SOURCE:

    tot check --json SOURCE | python3 -c 'import json, sys
    for found in json.load(sys.stdin)["investigations"][0]["findings"]:
        if found["code"] in ("COMMIT_BY_HAND", "NOT_ONE_CALL"): print(found["commit"])' >FILE

Signatures of commits and tags are dropped, because they would not fit. Runs cite commits of the project that an
investigation is about: they stay.
"""

import argparse
import hashlib
import os
import re
import subprocess
import tempfile

CHECKSUM = b"Tot-Checksum"
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def git(folder, *arguments, data=None):
    command = ["git", "-C", folder, *arguments]
    return subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout


def line(folder, *arguments, data=None):
    return git(folder, *arguments, data=data).decode().strip()


def parsed(raw):
    """Returns the headers and the message of a commit or tag."""
    head, message = raw.split(b"\n\n", 1)
    return [header.split(b" ", 1) for header in re.sub(rb"\n .*", b"", head).split(b"\n")], message


def changes(folder, before, after):
    """Returns path, old mode, old id, new mode and new id of each file that differs between two trees."""
    parts = git(folder, "diff-tree", "-r", "-z", "--no-renames", "--full-index", before, after).split(b"\0")
    for entry, path in zip(parts[:-1:2], parts[1::2]):
        old_mode, mode, old, new, _ = entry[1:].split(b" ")
        entries = [(mode, bytes.fromhex(of.decode())) if int(mode) else (b"", b"") for mode, of in [(old_mode, old), (mode, new)]]
        yield path, *entries[0], *entries[1]


def checksum(author, message, changed):
    """Returns the checksum of a commit, as src/store/checksum.rs defines it."""
    name, address, time = re.fullmatch(rb"(.*?) ?<(.*)> (.*)", author).groups()
    digest = hashlib.sha256()
    for field in [name.strip(), address, time, message, *(field for change in sorted(changed) for field in change)]:
        digest.update(len(field).to_bytes(8, "big") + field)
    return b"1-" + digest.hexdigest()[:32].encode()


NODE = rb"R[1-9][0-9]*\.[A-Za-z0-9]+"


def digest(*parts):
    """Returns the six characters of a node id, as src/core/domain/id.rs defines them."""
    hash = hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts))
    number = int.from_bytes(hash.digest()[:8], "big")
    return bytes(b"0123456789abcdefghijklmnopqrstuvwxyz"[number // 36**place % 36] for place in range(6))


def rewritten_tree(folder, tree, ids):
    """Returns the id of the tree that takes the place of this one in a new commit. Adds new nodes to `ids`."""
    entries = [entry.split(b"\t", 1) for entry in git(folder, "ls-tree", "-r", "-z", tree).split(b"\0") if entry]
    files = {path: (head.split(b" "), git(folder, "cat-file", "blob", head.split(b" ")[2])) for head, path in entries}
    session = re.search(rb"(?m)^id: (.*)$", files[b"investigation.yaml"][1]).group(1)
    for path in sorted(files):
        match = re.fullmatch(rb"nodes/.*/(%s)\.yaml" % NODE, path)
        if match:
            short = match.group(1)
            ids.setdefault(short, short + b"-" + digest(short, session, files[path][1]))
    new = lambda match: match.group(1) + ids.get(match.group(2), match.group(2))
    index = b""
    for path, ((mode, _, blob), text) in files.items():
        if path.split(b"/")[0] in (b"nodes", b"comments", b"runs", b"investigation.yaml", b"conclusion.yaml"):
            text = re.sub(rb"\Aversion: 1$", b"version: 2", text, flags=re.M)
            text = re.sub(rb"(?m)^( *(?:- )?(?:id|parent|to|by|node): )(%s)$" % NODE, new, text)
        if path == b"README.md":
            text = re.sub(rb"(nodes/[^ )>]*/)(%s)(?=\.yaml)" % NODE, new, text)
        path = re.sub(rb"\A((?:nodes/.*|attachments)/)(%s)(?=\.yaml|/)" % NODE, new, path)
        blob = line(folder, "hash-object", "-w", "--stdin", data=text).encode()
        index += b"%s %s\t%s\0" % (mode, blob, path)
    environment = {**os.environ, "GIT_INDEX_FILE": os.path.join(folder, "converted-index")}
    command = ["git", "-C", folder]
    subprocess.run([*command, "read-tree", "--empty"], env=environment, check=True)
    subprocess.run([*command, "update-index", "-z", "--index-info"], env=environment, input=index, check=True)
    return subprocess.run([*command, "write-tree"], env=environment, stdout=subprocess.PIPE, check=True).stdout.decode().strip()


def rewritten_message(message, new, ids):
    """Returns the message without an old checksum, with the new ids of commits, and with whole node ids in trailers."""
    whole = lambda match: match.group(1) + ids.get(match.group(2), match.group(2))
    message = re.sub(rb"(?m)^(Node: )(%s)$" % NODE, whole, message)
    message = re.sub(rb"(?m)^%s: .*\n" % CHECKSUM, b"", message)
    def renamed(match):
        found = [new[old] for old in new if old.startswith(match.group().decode())]
        return found[0][: len(match.group())].encode() if len(found) == 1 else match.group()
    return re.sub(rb"\b[0-9a-f]{10,40}\b", renamed, message)


def converted(folder, old, new, ids, is_by_hand):
    """Writes the new commit for an old one, and returns its id."""
    headers, message = parsed(git(folder, "cat-file", "commit", old))
    parents = [new[value.decode()] for key, value in headers if key == b"parent"]
    values = dict(headers)
    tree = rewritten_tree(folder, values[b"tree"].decode(), ids)
    message = rewritten_message(message, new, ids)
    names_call = message.rstrip().rpartition(b"\n\n")[2].startswith(b"Tool: ")
    if names_call and len(parents) < 2 and not is_by_hand:
        before = parents[0] + "^{tree}" if parents else EMPTY_TREE
        message += CHECKSUM + b": " + checksum(values[b"author"], message, changes(folder, before, tree)) + b"\n"
    head = [b"tree " + tree.encode(), *(b"parent " + parent.encode() for parent in parents)]
    head += [key + b" " + values[key] for key in (b"author", b"committer", b"encoding") if key in values]
    return line(folder, "hash-object", "-t", "commit", "-w", "--stdin", data=b"\n".join(head) + b"\n\n" + message)


def moved_tag(folder, tag, new):
    """Writes the tag object again for the new commit, and returns its id."""
    headers, message = parsed(git(folder, "cat-file", "tag", tag))
    message = rewritten_message(message.split(b"-----BEGIN ")[0], new, {})
    head = [key + b" " + (new[value.decode()].encode() if key == b"object" else value) for key, value in headers]
    return line(folder, "hash-object", "-t", "tag", "-w", "--stdin", data=b"\n".join(head) + b"\n\n" + message)


def convert(folder, by_hand):
    """Rewrites the commits of a bare repository, and moves its branches and tags."""
    new, ids = {}, {}
    for old in line(folder, "rev-list", "--topo-order", "--reverse", "--all").split():
        new[old] = converted(folder, old, new, ids, any(old.startswith(given) for given in by_hand))
    for ref in line(folder, "for-each-ref", "--format=%(objecttype) %(objectname) %(refname)").splitlines():
        kind, old, name = ref.split(" ", 2)
        if name.startswith(("refs/heads/", "refs/tags/")):
            git(folder, "update-ref", name, new[old] if kind == "commit" else moved_tag(folder, old, new))
        else:
            git(folder, "update-ref", "-d", name)
    print(f"{len(new)} commits, {len(by_hand)} of them by hand")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--by-hand", metavar="FILE", help="the commits that no call made")
    arguments = parser.parse_args()
    target = os.path.abspath(arguments.target)
    if os.path.exists(target):
        parser.error(f"{target} exists")
    by_hand = open(arguments.by_hand, encoding="ascii").read().split() if arguments.by_hand else []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "--quiet", "--mirror", arguments.source, folder], check=True)
        convert(folder, by_hand)
        branch = line(folder, "symbolic-ref", "--short", "HEAD")
        if target.endswith(".bundle"):
            git(folder, "bundle", "create", "--quiet", target, "HEAD", branch, "--tags")
        else:
            subprocess.run(["git", "clone", "--quiet", folder, target], check=True)


if __name__ == "__main__":
    main()
