// Imported before everything else. Plain JavaScript without newer syntax, so that an old Node can run it far enough to say
// what is missing. 24.7 is the first with crypto.argon2.
const [major, minor] = process.versions.node.split('.').map(Number)

if (major < 24 || (major === 24 && minor < 7)) {
  process.stderr.write(
    `Hyperplane needs Node 24.7 or newer and this is ${process.versions.node}: run "npm ci" and then "npm start", ` +
      'which bring a fitting Node on Linux and on Windows (x64), or install Node 24 from https://nodejs.org.\n',
  )
  process.exit(1)
}
