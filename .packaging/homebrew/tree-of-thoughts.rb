# Filled in by .packaging/fill with the version and checksums of a release.
class TreeOfThoughts < Formula
  desc "Investigations by AI agents, kept as git repositories"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@URL@/@ARCHIVE aarch64-apple-darwin@"
      sha256 "@SHA256 aarch64-apple-darwin@"
    end
    on_intel do
      url "@URL@/@ARCHIVE x86_64-apple-darwin@"
      sha256 "@SHA256 x86_64-apple-darwin@"
    end
  end

  on_linux do
    on_arm do
      url "@URL@/@ARCHIVE aarch64-unknown-linux-musl@"
      sha256 "@SHA256 aarch64-unknown-linux-musl@"
    end
    on_intel do
      url "@URL@/@ARCHIVE x86_64-unknown-linux-musl@"
      sha256 "@SHA256 x86_64-unknown-linux-musl@"
    end
  end

  def install
    bin.install "tot", "tot-mcp", "tot-report"
    bash_completion.install "completions/tot.bash" => "tot" if File.exist?("completions/tot.bash")
    zsh_completion.install "completions/_tot" if File.exist?("completions/_tot")
    fish_completion.install "completions/tot.fish" if File.exist?("completions/tot.fish")
    man1.install Dir["man/man1/*.1"]
    man7.install Dir["man/man7/*.7"]
  end

  test do
    system bin/"tot", "demo", testpath/"demo"
    assert_predicate testpath/"demo/site/index.html", :exist?
  end
end
