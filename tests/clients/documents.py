#!/usr/bin/env python3
"""The commands of the project's README and the examples of the topic `scripts`, as they are printed.

  documents.py folder/of/binaries path/to/node_modules

Runs every line of the README's `sh` blocks in the demo's folder, except those that other checks run, and the four examples of
`tot help scripts` with the official clients of PyPI and npm. Each must succeed, and those that print must name the demo.

By hand, as node_clients.py: the modules are those of inspector.py, and the Python is that of python_client.py.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import investigation

PROJECT = Path(__file__).resolve().parents[2]
# .ci/run runs those of cargo, and packaging.py those of packages.
ELSEWHERE = ("cargo ", "uvx ", "npx ", "pip ")


def main():
    binaries, modules = (Path(argument).resolve() for argument in sys.argv[1:3])
    node = Path(investigation.node(str(modules)))
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        path = [binaries, Path(sys.executable).parent, node.parent, os.environ["PATH"]]
        environment = investigation.environment(str(folder)) | {
            "PATH": os.pathsep.join(map(str, path)),
            "BROWSER": "true",
            "GIT_CONFIG_GLOBAL": str(folder / "gitconfig"),
        }

        def run(words, place=folder):
            done = subprocess.run(
                words, cwd=place, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
            )
            assert done.returncode == 0, f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}"
            return done.stdout + done.stderr

        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key"])
        run(["git", "init", "--quiet", "--bare", folder / "hub" / "research.git"])
        settings = {
            "user.name": "Reader",
            "user.email": "reader@example.org",
            "gpg.format": "ssh",
            "user.signingkey": folder / "key.pub",
            # The hub that the README names.
            f"url.{folder}/hub/.insteadOf": "git@github.com:team/",
        }
        for key, value in settings.items():
            run(["git", "config", "--global", key, value])
        # A client that `tot setup` finds.
        (folder / ".codex").mkdir()
        run(["tot", "demo", "demo"])
        demo = folder / "demo"
        [repository] = (path.parent for path in demo.glob("investigations/*/.git"))

        readme = (PROJECT / "README.md").read_text(encoding="utf-8")
        lines = "".join(re.findall(r"^```sh\n(.*?)^```", readme, re.M | re.S)).splitlines()
        commands = [line.split("  #")[0].rstrip() for line in lines if not line.startswith(ELSEWHERE)]
        for command in commands:
            said = run(["bash", "-c", command], repository if command.startswith("git ") else demo)
            assert said or command == "tot sync", f"{command} prints nothing"
        print(f"README.md: {len(commands)} commands")

        topic = run(["tot", "help", "scripts"])
        for language, runner, name in ("Python", "python3", "script.py"), ("TypeScript", "node", "script.mts"):
            section = topic.split(f"\n## {language}")[1].split("\n## ")[0]
            (demo / "node_modules").unlink(missing_ok=True)
            (demo / "node_modules").symlink_to(modules)
            # An example ends with the next line of prose.
            examples = re.findall(r"((?:^ {4}.*\n|^\n)+)", section, re.M)
            examples = [re.sub("^ {4}", "", text, flags=re.M) for text in examples if text.strip()]
            assert len(examples) == 2, examples
            for example in examples:
                (demo / name).write_text(example, encoding="utf-8")
                assert repository.name in run([runner, name], demo), example
            print(f"tot help scripts: {len(examples)} examples in {language}")


if __name__ == "__main__":
    main()
