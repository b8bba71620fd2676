// Starts a program from the package for this machine, which npm installs beside this one as an optional dependency.
const { spawn } = require("node:child_process");
const { dirname, join } = require("node:path");

module.exports = (program) => {
  const name = `tot-mcp-${process.platform}-${process.arch}`;
  const fail = (message) => {
    console.error(`${program}: ${message}`);
    process.exit(1);
  };
  if (!(name in require("./package.json").optionalDependencies)) {
    fail(`there is no build for ${process.platform} on ${process.arch}: build it with Rust`);
  }
  let folder;
  try {
    folder = dirname(require.resolve(`${name}/package.json`));
  } catch {
    fail(`the package ${name} is missing: install tot-mcp again, with its optional dependencies`);
  }
  const file = join(folder, "bin", process.platform === "win32" ? `${program}.exe` : program);
  const child = spawn(file, process.argv.slice(2), { stdio: "inherit" });
  // A terminal sends Ctrl-C to both programs; this one waits for the other.
  process.on("SIGINT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => fail(`can't start ${file}: ${error.message}`));
  child.on("exit", (code, signal) => {
    if (!signal) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
};
