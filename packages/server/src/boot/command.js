#!/usr/bin/env node
// The command `hyperplane` of the published package: runs main.js on a suitable Node, with the flags of `npm start` in a
// checkout. Plain JavaScript, so that an old Node can run this file and find a newer Node.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { nodeFault, nodePackage } from './node-requirement.js'

const fault = nodeFault()
const program = fault === undefined ? process.execPath : installedNode()
if (program === undefined) {
  process.stderr.write(`${fault}\n`)
  process.exitCode = 1
} else {
  const main = fileURLToPath(new URL('../main.js', import.meta.url))
  const flags = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=8']
  run(program, [...process.execArgv, ...flags, main, ...process.argv.slice(2)])
}

/** The Node that is installed as a package of the project. */
function installedNode() {
  try {
    return createRequire(import.meta.url).resolve(
      `${nodePackage}/bin/node${process.platform === 'win32' ? '.exe' : ''}`,
    )
  } catch {
    return undefined
  }
}

/** Replaces this process if the system and this Node can do that; otherwise runs a child and forwards signals to it. */
function run(file, argv) {
  if (process.execve !== undefined && process.platform !== 'win32') process.execve(file, [file, ...argv], process.env)
  const child = spawn(file, argv, { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    process.stderr.write(`${file} does not start: ${error.message}\n`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 1
    if (signal !== null) {
      process.removeAllListeners(signal)
      process.kill(process.pid, signal)
    }
  })
}
