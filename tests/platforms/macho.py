#!/usr/bin/env python3
"""The programs for macOS, as far as they can be judged on Linux, where they cannot run.

  macho.py folder/of/binaries

Each must be a program for Apple's processors from macOS 11 on, signed as those demand, which asks for no library that a
Mac might not have.

By hand, from the root of the project:

  PROFILE=dev .ci/cross aarch64-apple-darwin
  python3 tests/platforms/macho.py target/cross/aarch64-apple-darwin/debug
"""

import hashlib
import struct
import sys
from pathlib import Path

PROGRAMS = ("tot", "tot-mcp", "tot-report")
LIBRARIES = {"/usr/lib/libSystem.B.dylib", "/usr/lib/libiconv.2.dylib", "/usr/lib/libcharset.1.dylib"}

# The names of Apple's <mach-o/loader.h> and <Kernel/kern/cs_blobs.h>.
MH_MAGIC_64, CPU_TYPE_ARM64, MH_EXECUTE = 0xFEEDFACF, 0x0100000C, 2
MH_PIE, MH_NOUNDEFS = 0x200000, 1
LC_LOAD_DYLIB, LC_LOAD_DYLINKER, LC_CODE_SIGNATURE, LC_BUILD_VERSION, LC_MAIN = 0xC, 0xE, 0x1D, 0x32, 0x80000028
LC_LOAD_WEAK_DYLIB, LC_REEXPORT_DYLIB = 0x80000018, 0x8000001F
PLATFORM_MACOS = 1
CSMAGIC_EMBEDDED_SIGNATURE, CSMAGIC_CODEDIRECTORY, CS_HASHTYPE_SHA256 = 0xFADE0CC0, 0xFADE0C02, 2


def commands(content):
    """The load commands: number and bytes."""
    magic, processor, _, kind, count, _, flags = struct.unpack_from("<7I", content)
    assert (magic, processor, kind) == (MH_MAGIC_64, CPU_TYPE_ARM64, MH_EXECUTE), "no program for arm64"
    assert flags & MH_PIE and flags & MH_NOUNDEFS, f"flags {flags:#x}"
    at = 32
    for _ in range(count):
        number, size = struct.unpack_from("<2I", content, at)
        yield number, content[at : at + size]
        at += size


def text(command):
    """The text in a load command, whose place its third number says."""
    return command[struct.unpack_from("<I", command, 8)[0] :].split(b"\0")[0].decode()


def signed(content, command):
    """Compares each page of the file with its hash in the signature. Apple's processors run nothing else."""
    start, _ = struct.unpack_from("<2I", command, 8)
    magic, _, count = struct.unpack_from(">3I", content, start)
    assert magic == CSMAGIC_EMBEDDED_SIGNATURE, "no signature"
    blobs = [struct.unpack_from(">2I", content, start + 12 + 8 * number)[1] + start for number in range(count)]
    [at] = [blob for blob in blobs if struct.unpack_from(">I", content, blob)[0] == CSMAGIC_CODEDIRECTORY]
    hashes, _, _, pages, limit = struct.unpack_from(">5I", content, at + 16)
    size, kind, _, shift = struct.unpack_from(">4B", content, at + 36)
    assert (size, kind) == (32, CS_HASHTYPE_SHA256) and limit == start and pages == -(-limit >> shift), "not all is signed"
    for page in range(pages):
        expected = content[at + hashes + size * page :][:size]
        actual = hashlib.sha256(content[page << shift : min(page + 1 << shift, limit)]).digest()
        assert actual == expected, f"page {page} is not as it was signed"


def check(program):
    content = program.read_bytes()
    found = list(commands(content))
    of = lambda *numbers: [command for number, command in found if number in numbers]  # noqa: E731
    [linker], [_], [version], [signature] = map(of, (LC_LOAD_DYLINKER, LC_MAIN, LC_BUILD_VERSION, LC_CODE_SIGNATURE))
    assert text(linker) == "/usr/lib/dyld", text(linker)
    platform, least = struct.unpack_from("<2I", version, 8)
    assert (platform, least) == (PLATFORM_MACOS, 11 << 16), f"for platform {platform} from {least >> 16} on"
    libraries = {text(command) for command in of(LC_LOAD_DYLIB, LC_LOAD_WEAK_DYLIB, LC_REEXPORT_DYLIB)}
    assert "/usr/lib/libSystem.B.dylib" in libraries <= LIBRARIES, libraries
    signed(content, signature)


def main():
    [folder] = map(Path, sys.argv[1:])
    for name in PROGRAMS:
        try:
            check(folder / name)
        except (AssertionError, ValueError, struct.error) as fault:
            sys.exit(f"FAIL {name}: {fault}")
    print(f"macOS: {len(PROGRAMS)} programs for arm64, from macOS 11 on, with system libraries alone, signed; none was run")


if __name__ == "__main__":
    main()
