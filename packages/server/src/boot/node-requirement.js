// Plain JavaScript without newer syntax, so that an old Node can run it and report what is missing.

/**
 * The reason and the remedy in one line if this Node is too old. 24.7 is the first version with crypto.argon2.
 * @returns {string | undefined}
 */
export function nodeFault() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > 24 || (major === 24 && minor >= 7)) return undefined
  const remedy = import.meta.url.includes('/node_modules/')
    ? `add one to your project with "npm install --save-dev ${nodePackage}@24"`
    : 'run "npm ci" and then "npm start", which bring a suitable Node on Linux and on Windows (x64)'
  return `Hyperplane needs Node 24.7 or newer and this is ${process.versions.node}: ${remedy}, or install Node 24 from https://nodejs.org.`
}

/** The npm package that contains Node for this platform, without install scripts. */
export const nodePackage = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
